import { delimiter, isAbsolute } from 'node:path';
import { usualDataDirectory } from './directories.ts';
import { absolutePath, choice, hostName, integer, pin, socketPath, text, url, yesOrNo } from './kinds.ts';
import { list, one, optional, optionalList, secret } from './setting.ts';

const NAME = text(200);

/** What holds for every command on a machine, and for a server too. */
export const LOCAL_SETTINGS = {
  'data.directory': one(absolutePath, {
    help: 'Where everything is kept that must be remembered: runs, blobs, layers, images, keys.',
    variable: 'SKILLBOX_DATA_DIR',
    fallbackFrom: usualDataDirectory,
    fallbackText: '`$XDG_DATA_HOME/skillbox`, else `~/.local/share/skillbox`',
  }),
  'skills.directories': list(absolutePath, {
    help: "Further directories to look for skills in, stronger than a project's (SK-12).",
    variable: 'SKILLBOX_SKILL_DIRS',
    separator: new RegExp(delimiter),
  }),
  'skills.pinned': list(NAME, {
    help: 'The names of skills that stand first in every catalog.',
    variable: 'SKILLBOX_PINNED',
  }),
  'images.allowed': optionalList(NAME, {
    help: 'SB-03: the images that skills may run in. An empty list allows none.',
    variable: 'SKILLBOX_IMAGES',
    separator: /\s*,\s*/,
    emptyCounts: true,
    fallbackText: 'the three default images, and every imported one',
  }),
  'sandbox.driver': optional(choice('bubblewrap', 'docker', 'process'), {
    help: 'The sandbox to use.',
    variable: 'SKILLBOX_SANDBOX',
    flag: 'sandbox',
    fallbackText: 'the strongest that is usable here',
  }),
  'sandbox.allowUnisolated': one(yesOrNo, {
    help: 'Whether skills may run without isolation; the caller must ask for it as well.',
    variable: 'SKILLBOX_ALLOW_UNISOLATED',
    fallback: false,
  }),
  'sandbox.runtimes': list(absolutePath, {
    help: "Where interpreters are looked for before the system's own directories. Not PATH: a project may have put something there.",
    variable: 'SKILLBOX_RUNTIME_PATH',
    separator: /:/,
  }),
  'sandbox.docker.socket': one(socketPath, {
    help: 'The Docker or Podman engine to use where bubblewrap cannot be.',
    variable: 'SKILLBOX_DOCKER_SOCKET',
    fallbackFrom: env => engineOf(env.DOCKER_HOST),
    fallbackText: 'the socket in `DOCKER_HOST`, else `/var/run/docker.sock`',
  }),
  'sandbox.docker.image': one(NAME, {
    help: 'The image for skills that name none.',
    variable: 'SKILLBOX_DOCKER_IMAGE',
    fallback: 'skillbox-runner',
  }),
  'sandbox.docker.runtime': optional(NAME, {
    help: 'The OCI runtime of the engine, such as runsc.',
    variable: 'SKILLBOX_DOCKER_RUNTIME',
    fallbackText: "the engine's own",
  }),
  'dependencies.pipIndex': optional(text(), {
    help: 'The index that Python packages come from.',
    variable: 'SKILLBOX_PIP_INDEX_URL',
    fallbackText: "as pip's own configuration says",
  }),
  'dependencies.npmRegistry': optional(text(), {
    help: 'The registry that Node packages come from.',
    variable: 'SKILLBOX_NPM_REGISTRY',
    fallbackText: "as npm's own configuration says",
  }),
  'dependencies.hosts': list(hostName, {
    help: 'Further hosts that a build of dependencies may reach.',
    variable: 'SKILLBOX_INDEX_HOSTS',
  }),
  'dependencies.allowSources': one(yesOrNo, {
    help: "Whether packages may be built from source, which runs a stranger's code while a layer is built.",
    variable: 'SKILLBOX_ALLOW_SOURCE_PACKAGES',
    fallback: false,
  }),
  'dependencies.allowScripts': one(yesOrNo, {
    help: "Whether install scripts of packages may run, which are a stranger's code too.",
    variable: 'SKILLBOX_ALLOW_INSTALL_SCRIPTS',
    fallback: false,
  }),
  'warm.count': one(integer(0, 64), {
    help: 'How many sandboxes are held ready for runs to come. A command that ends after one run gains nothing by it.',
    variable: 'SKILLBOX_WARM',
    fallback: 0,
    serving: 4,
  }),
  'warm.spares': one(integer(0, 16), {
    help: 'How many empty sandboxes are held ready for runs that no warm one fits.',
    fallback: 0,
    serving: 1,
  }),
  'warm.ahead': one(yesOrNo, {
    help: 'Whether `skillbox run` begins a sandbox like that of the last such run before it has read the skill. It is used only where it fits exactly.',
    variable: 'SKILLBOX_AHEAD',
    fallback: true,
  }),
  'secrets.masterKey': secret({
    help: 'The key that stored secrets are sealed with: 32 bytes in hex or base64. Without it a key file in the data directory is used.',
    variable: 'SKILLBOX_MASTER_KEY',
  }),
  'secrets.keyring': one(yesOrNo, {
    help: 'Whether that key is in the keyring of the operating system, made there with the first secret. Without a keyring that answers, nothing is stored or read.',
    fallback: false,
  }),
  'broker.pins': list(pin, {
    help: 'Hosts that the broker finds elsewhere than DNS says, such as a gateway of your own. The certificate must still be that of the host.',
    variable: 'SKILLBOX_BROKER_PINS',
  }),
  'mcp.key': secret({
    help: 'What clients of `skillbox mcp --http` show. Without it one is made at each start.',
    variable: 'SKILLBOX_MCP_KEY',
  }),
  'install.mcpKeys': secret({
    help: 'Keys of MCP servers that skills are installed from: host=KEY or host:port=KEY, with commas between. Each goes to its host only.',
    variable: 'SKILLBOX_MCP_KEYS',
  }),
  'client.url': optional(url('http', 'https'), {
    help: 'The server that commands talk to instead of this machine, with the key in `SKILLBOX_API_KEY`.',
    variable: 'SKILLBOX_SERVER_URL',
    flag: 'server',
    fallbackText: 'none: this machine',
  }),
  'client.key': secret({
    help: 'The API key for that server.',
    variable: 'SKILLBOX_API_KEY',
  }),
};

/** An engine elsewhere is no engine for us: what is mounted into its containers lies here. */
function engineOf(host: string | undefined): string {
  const path = host?.replace(/^unix:\/\//, '');
  return path !== undefined && isAbsolute(path) ? path : '/var/run/docker.sock';
}
