// `npm test`: installs what the tests need, then checks everything. A part that could be installed must not be skipped.
import { installSystemPackages } from './packages.mjs';
import { installPackages, run } from './setup.mjs';

installPackages();
const complete = installSystemPackages();
const required = process.env.SKILLBOX_REQUIRE ?? (complete ? 'bubblewrap' : '');
run('npm', ['run', '--silent', 'check'], { env: { ...process.env, SKILLBOX_REQUIRE: required } });
