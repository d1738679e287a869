// `npm test`: installs what the tests need, then checks everything.
import { installPackages, run } from './setup.mjs';

installPackages();
run('npm', ['run', '--silent', 'check']);
