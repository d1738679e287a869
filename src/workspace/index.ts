/** Confined files: read, written and edited inside one folder, whatever links and names are tried (WS-04…WS-08, WS-10). */
export { checkExtension, EXTENSIONS, READ_BYTES, WRITE_BYTES } from './limits.ts';
export { type Edited, openWorkspace, type Workspace, type Written } from './workspace.ts';
