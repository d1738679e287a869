import { visibleLine } from '../../base/index.ts';
import type { Input } from '../command.ts';

/** For commands that a person is told to type next: whoever named the server in this one names it again. */
export function sameServer(input: Input): string {
  const url = input.value('server');
  return url === null ? '' : ` --server ${visibleLine(url)}`;
}
