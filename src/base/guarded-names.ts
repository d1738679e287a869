/** WS-10: what is obeyed by whoever only opens the folder that it lies in, or goes there. */
const OBEYED_ANYWHERE: readonly string[] = [
  '.vscode',
  '.idea',
  '.vs',
  '.zed',
  '.fleet',
  '.helix',
  '.lapce',
  '.theia',
  '.devcontainer',
  '.devcontainer.json',
  '.sublime-project',
  '.nvim.lua',
  '.nvimrc',
  '.exrc',
  '.vimrc',
  '.lvimrc',
  '.dir-locals.el',
  '.dir-locals-2.el',
  '.claude',
  '.claude.json',
  '.mcp.json',
  '.cursor',
  '.cursorrules',
  '.windsurf',
  '.windsurfrules',
  '.gemini',
  '.codex',
  '.agents',
  '.agent',
  '.aider.conf.yml',
  '.continue',
  '.roo',
  '.clinerules',
  '.opencode',
  '.kiro',
  '.amazonq',
  '.qwen',
  '.factory',
  '.junie',
  '.kilocode',
  '.kilocodemodes',
  '.roomodes',
  '.cline',
  '.trae',
  '.augment',
  '.crush.json',
  '.goosehints',
  '.skillbox',
  '.gibberish',
  '.seks',
  '.envrc',
  '.direnv',
  '.mise.toml',
  '.mise.local.toml',
  '.mise',
  '.autoenv',
  '.autoenv.zsh',
  '.rvmrc',
  '.hg',
  '.jj',
  '.pijul',
]; // prettier-ignore

/** Further down these are part of ordinary work, or nothing obeys them: they are started by hand, or belong in a home. */
const OBEYED_AT_ROOT: readonly string[] = [
  '.github',
  '.gitlab-ci.yml',
  'opencode.json',
  'opencode.jsonc',
  'crush.json',
  'CLAUDE.md',
  'AGENTS.md',
  'GEMINI.md',
  'AGENT.md',
  'QWEN.md',
  'CRUSH.md',
  'CLAUDE.local.md',
  'AGENTS.override.md',
  'skills',
  'mise.toml',
  'mise.local.toml',
  '.tool-versions',
  '.husky',
  '.overcommit.yml',
  '.simple-git-hooks.json',
  '.pre-commit-config.yaml',
  'lefthook.yml',
  'lefthook.yaml',
  'lefthook.toml',
  'lefthook.json',
  'lefthook-local.yml',
  '.lefthook-local.yml',
  '.lefthook.yml',
  '.bashrc',
  '.bash_profile',
  '.bash_login',
  '.bash_logout',
  '.profile',
  '.zshrc',
  '.zshenv',
  '.zprofile',
  '.zlogin',
  '.kshrc',
  '.inputrc',
  'package.json',
  '.gitmodules',
  '.gitattributes',
  '.gitconfig',
  '.npmrc',
  '.yarnrc',
  '.yarnrc.yml',
  '.pnpmfile.cjs',
  '.ripgreprc',
  '.hgrc',
  '.cargo',
  '.mvn',
  '.Rprofile',
  '.pdbrc',
  '.pryrc',
  '.irbrc',
  '.iex.exs',
  '.octaverc',
  '.ocamlinit',
  '.ghci',
  '.gdbinit',
  '.lldbinit',
]; // prettier-ignore

/**
 * WS-10: what git, a shell, an editor, a package manager or an agent would execute or obey, were it planted at the root of a
 * workspace.
 */
export const GUARDED: readonly string[] = [...OBEYED_ANYWHERE, ...OBEYED_AT_ROOT];

/** As a file system that ignores case, or Windows with its dots and blanks at the end, would read a name. */
export function foldName(name: string): string {
  return name
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[. ]+$/, '');
}

/** WS-10 further down. */
export const GUARDED_BELOW: ReadonlySet<string> = new Set(OBEYED_ANYWHERE);

const ANYWHERE: ReadonlySet<string> = new Set(['.git', ...OBEYED_ANYWHERE].map(foldName));
const AT_ROOT: ReadonlySet<string> = new Set(OBEYED_AT_ROOT.map(foldName));

/** Whether a file at this path says what other programs do; `atRoot`: the path begins in a folder that somebody works in. */
export function isObeyed(path: string, atRoot: boolean): boolean {
  const names = path.split('/').map(foldName);
  return names.some(name => ANYWHERE.has(name)) || (atRoot && AT_ROOT.has(names[0] ?? ''));
}

/** Inside a git directory. `commondir` and `config.worktree` can each bring in another config, and a config runs programs. */
export const GIT_GUARDED: readonly string[] = [
  'hooks',
  'config',
  'config.worktree',
  'commondir',
  'gitdir',
  'info',
  'modules',
  'worktrees',
  'objects/info/alternates',
];

const SECRET_NAMES: readonly RegExp[] = [
  /^\.env($|[._-])/,
  /^\.envrc$/,
  /^\.?env\.(local|production|development|staging|secret)$/,
  /\.(pem|key|p12|pfx|jks|keystore|kdbx|ppk|asc|gpg|age)$/i,
  /^id_(rsa|dsa|ecdsa|ed25519)(_sk)?$/,
  /^\.(netrc|pgpass|pypirc|git-credentials|htpasswd|vault-token|vault_pass|terraformrc|s3cfg|boto|my\.cnf|mylogin\.cnf|dockercfg)$/,
  /^\.dev\.vars($|\.)/,
  /^(.*\.)?kubeconfig$/,
  /^\.(ssh|gnupg|aws|azure|kube|docker|gcloud)$/,
  /^(credentials|secrets?)\.(json|ya?ml|toml|ini)$/i,
  /^service[-_]?account.*\.json$/i,
  /^terraform\.tfstate(\.backup)?$/,
];

/** What editors leave beside a file: `x~`, `#x#`, `.x.swp`. */
const BESIDE = /^#(.+)#$|^(.+)~$|^\.(.+)\.sw[a-p]$/;

/** Names under which people keep secrets in a workspace. */
export function isSecretName(name: string): boolean {
  const [, ...of] = BESIDE.exec(name) ?? [];
  const names = [name, ...of.filter(each => each !== undefined)];
  return SECRET_NAMES.some(pattern => names.some(each => pattern.test(each)));
}
