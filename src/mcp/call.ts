import { createHash } from 'node:crypto';
import {
  type CallToolRequestParams,
  type CallToolResult,
  type InputRequiredResult,
  inputRequired,
  inputResponse,
  type McpServer,
  ProtocolError,
  ProtocolErrorCode,
  type ServerContext,
} from '@modelcontextprotocol/server';
import {
  type AgentTool,
  type CallContext,
  callTool,
  checkDepth,
  describeQuestion,
  errorResult,
  type Own,
  settleWaiting,
  type ToolResult,
  toolsOf,
} from '../agent/index.ts';
import type { Reply } from '../app.ts';
import { type JsonObject, SkillboxError, stableJson, visibleLine } from '../base/index.ts';
import type { McpCaller } from './caller.ts';
import { type Client, clientOf } from './client.ts';
import { deskOf, type Host, type Pending } from './host.ts';
import { Progress } from './progress.ts';
import { toResult } from './result.ts';
import { askForRoots, type Connection, rootsAnswer } from './workspace.ts';

/** What runs print is cut below this. */
const USUAL_LENGTH = 128 * 1024;

/** Where a call comes from. */
export type Caller = { host: Host; mcp: McpServer; connection: Connection; ctx: ServerContext };

/**
 * One round of a call. A client may be asked for its roots, and its user for an approval: then the round ends with the
 * question, and the client calls again with the answer. Clients of 2025 are asked by requests; the SDK turns one into the other.
 */
export async function handleCall(
  caller: Caller,
  params: CallToolRequestParams,
): Promise<CallToolResult | InputRequiredResult> {
  const { host, mcp, ctx } = caller;
  const who = host.callerOf(ctx);
  const tool = (await toolsOf(deskOf(host, who))).get(params.name);
  if (tool === undefined) {
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${visibleLine(params.name, 64)}`);
  }
  const client = clientOf(mcp, ctx);
  const progress = new Progress(ctx);
  try {
    requireScope(who, tool);
    checkDepth(params.arguments ?? {});
    const state = ctx.mcpReq.requestState<Pending>();
    if (state !== undefined && state.call !== digestOf(params)) {
      throw new SkillboxError('INVALID_CALL', 'the answer belongs to another call');
    }
    const pending = state ?? newPending(params);
    const person = personBehind(host, who);
    const workspace = await findWorkspace(caller, person, tool, client, pending);
    if (workspace.kind === 'ask') return askForRoots(await host.codec.mint(pending, ctx));
    const context: CallContext = {
      library: who.library,
      session: caller.connection.session,
      workspace: workspace.path,
      signal: who.gone === null ? ctx.mcpReq.signal : AbortSignal.any([ctx.mcpReq.signal, who.gone]),
      onOutput: progress.isWanted ? text => progress.add(text) : null,
      client: who.key === null ? client.name : `${client.name} key:${who.key}`,
    };
    const result = await host.calls.within(() => goOn(caller, person, tool, params, pending, context));
    await progress.end();
    if (result.waiting !== null && pending.run === null && client.elicits && person !== null) {
      const question = await askPerson(caller, person, result.waiting, { ...pending, workspace: workspace.path });
      if (question !== null) return question;
    }
    // A file of a skill, as a rule, of which many may be asked for in one body. It is told twice: to models, and as data.
    if (result.body !== null && result.body.length > USUAL_LENGTH) who.hold(2 * result.body.length);
    return toResult(result);
  } catch (error) {
    return toResult(errorResult(error));
  }
}

function requireScope({ scopes }: McpCaller, { scope }: AgentTool): void {
  if (scopes.includes(scope)) return;
  throw new SkillboxError('FORBIDDEN', `this needs the scope ${scope}`, { details: { scopes: [scope] } });
}

/**
 * Who can be asked through the client, for an approval and for the folder to work in. Null on a server, and for a key: who sits
 * before the client is then who wants something, and nobody allows themselves what they want.
 */
function personBehind({ desk }: Host, { key }: McpCaller): Own | null {
  return key === null ? desk.own : null;
}

/** Most calls end without a question: only then is the digest wanted. */
function newPending(params: CallToolRequestParams): Pending {
  return {
    get call() {
      return digestOf(params);
    },
    run: null,
  };
}

function digestOf({ name, arguments: args = {} }: CallToolRequestParams): string {
  return createHash('sha256')
    .update(stableJson([name, args as JsonObject]))
    .digest('hex');
}

type Found = { kind: 'found'; path: string | null } | { kind: 'ask' };

/** The operator's word first; then what the client's roots say, asked once for each connection. */
async function findWorkspace(
  { host, connection, ctx }: Caller,
  person: Own | null,
  { inWorkspace }: AgentTool,
  { hasRoots }: Client,
  pending: Pending,
): Promise<Found> {
  if (host.workspace !== null || person === null || !inWorkspace) return { kind: 'found', path: host.workspace };
  const known = connection.roots ?? pending.workspace;
  if (known !== undefined) return { kind: 'found', path: known };
  if (!hasRoots) return { kind: 'found', path: null };
  const answered = rootsAnswer(ctx.mcpReq.inputResponses, person.skillbox);
  if (answered === undefined) {
    // A round that carries state and no roots was asked already: a client that does not answer has none.
    return ctx.mcpReq.requestState<Pending>() === undefined ? { kind: 'ask' } : { kind: 'found', path: null };
  }
  if (connection.keeps) connection.roots = answered;
  return { kind: 'found', path: answered };
}

/** The first time the tool is called; after a question was put, its run is settled. */
async function goOn(
  { ctx }: Caller,
  person: Own | null,
  tool: AgentTool,
  params: CallToolRequestParams,
  { run }: Pending,
  context: CallContext,
): Promise<ToolResult> {
  if (run === null) return callTool(tool, params.arguments as JsonObject | undefined, context);
  const answer = answerOf(ctx.mcpReq.inputResponses);
  // Nobody answered, or nobody here may: it goes on waiting, and the result says so.
  if (answer === null || person === null) return context.library.getRun(run);
  const reply: Reply = { answer, channel: 'elicitation', by: context.client };
  return settleWaiting(person, run, reply, context);
}

function answerOf(responses: Record<string, unknown> | undefined): 'once' | 'deny' | null {
  const view = inputResponse(responses, 'approve');
  if (view.kind !== 'elicit' || view.action === 'cancel') return null;
  return view.action === 'accept' && view.content?.answer === 'allow' ? 'once' : 'deny';
}

/** Null where the policy takes no yes by this channel: an agent can drive it, so it never widens a grant. */
async function askPerson(
  { host, ctx }: Caller,
  { skillbox }: Own,
  run: string,
  pending: Pending,
): Promise<InputRequiredResult | null> {
  const question = await skillbox.approvals.question(run);
  if (!question.answers.elicitation?.includes('once')) return null;
  const approve = inputRequired.elicit({
    message: describeQuestion(question),
    requestedSchema: {
      type: 'object',
      properties: {
        // Not a yes or no: some clients put the yes first and mark it, and a stray Enter would be a word of a person.
        answer: {
          type: 'string',
          title: 'Shall it run?',
          description: 'Whether it runs: this once, with exactly what is shown.',
          enum: ['deny', 'allow'],
        },
      },
      required: ['answer'],
    },
  });
  const requestState = await host.codec.mint({ ...pending, run }, ctx);
  return inputRequired({ inputRequests: { approve }, requestState });
}
