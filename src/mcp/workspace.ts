import { fileURLToPath } from 'node:url';
import { type InputRequiredResult, inputRequired, inputResponse, type Root } from '@modelcontextprotocol/server';
import type { Session } from '../agent/index.ts';
import type { Skillbox } from '../app.ts';

/** What is remembered of one client. */
export type Connection = {
  session: Session;
  /** The workspace of the client's roots; undefined as long as it was not asked. */
  roots: string | null | undefined;
  /** False for a server that lives for one request only. */
  keeps: boolean;
};

/** The first root that may be worked in. GB-11: not the home, nor what holds it. */
function workspaceOf(roots: readonly Root[], skillbox: Skillbox): string | null {
  for (const { uri } of roots) {
    try {
      return skillbox.checkWorkspace(fileURLToPath(uri));
    } catch {
      // Not a file: URI, nothing there, or not to be worked in: another root may be.
    }
  }
  return null;
}

export function askForRoots(requestState: string): InputRequiredResult {
  return inputRequired({ inputRequests: { roots: inputRequired.listRoots() }, requestState });
}

/** Undefined when the client has not answered that. */
export function rootsAnswer(
  responses: Record<string, unknown> | undefined,
  skillbox: Skillbox,
): string | null | undefined {
  const view = inputResponse(responses, 'roots');
  return view.kind === 'roots' ? workspaceOf(view.roots, skillbox) : undefined;
}
