import type { Question } from '../app.ts';
import { SkillboxError } from '../base/index.ts';
import { callTool, errorResult } from './call.ts';
import type { LocalDesk } from './desk.ts';
import { type Dispatch, toAiSdk, toAnthropic, toOpenAi } from './function-shapes.ts';
import { settleWaiting } from './run-tools.ts';
import { type CallContext, newSession, type ToolResult } from './tool.ts';
import { type Tools, toolsOf } from './tools.ts';

export type FunctionOptions = {
  /** The folder for files and scripts; without it there is none. */
  workspace?: string;
  /**
   * Shows a person what a run asks: true allows it this once, false denies it, null leaves it waiting. Whoever answers may be
   * driven by a model, so a yes never widens what the skill gets beyond the least; such runs wait for `skillbox approve`.
   */
  approve?: (question: Question) => Promise<boolean | null>;
  signal?: AbortSignal;
  onOutput?: (text: string) => void;
  /** What calls, for the journal. */
  client?: string;
};

export const FUNCTION_FORMATS = ['ai-sdk', 'openai', 'anthropic'] as const;
export type FunctionFormat = (typeof FUNCTION_FORMATS)[number];

export type Functions = {
  'ai-sdk': ReturnType<typeof toAiSdk>;
  openai: ReturnType<typeof toOpenAi>;
  anthropic: ReturnType<typeof toAnthropic>;
};

/**
 * What an agent may call now, in the shape that its model's interface takes, and the dispatcher for it. Skills come and go:
 * ask again for each conversation.
 */
export async function functionsOf<F extends FunctionFormat>(
  desk: LocalDesk,
  options: FunctionOptions & { format: F },
): Promise<Functions[F]>;
export async function functionsOf(
  desk: LocalDesk,
  options: FunctionOptions & { format: FunctionFormat },
): Promise<Functions[FunctionFormat]> {
  const tools = await toolsOf(desk);
  const dispatch = createDispatch(desk, tools, options);
  switch (options.format) {
    case 'ai-sdk':
      return toAiSdk(tools, dispatch);
    case 'openai':
      return toOpenAi(tools, dispatch);
    case 'anthropic':
      return toAnthropic(tools, dispatch);
    default:
      // JavaScript has no types to say it.
      throw new SkillboxError('USAGE', `there is no format "${String(options.format)}"`, {
        hint: `Formats: ${FUNCTION_FORMATS.join(', ')}.`,
      });
  }
}

function createDispatch(desk: LocalDesk, tools: Tools, options: FunctionOptions): Dispatch {
  const { workspace = null, approve = null, signal = null, onOutput = null, client = 'functions' } = options;
  const { library } = desk;
  const context: CallContext = { library, session: newSession(), workspace, signal, onOutput, client };
  return async (name, args) => {
    const tool = tools.get(name);
    if (tool === undefined) {
      return errorResult(
        new SkillboxError('NOT_FOUND', `there is no tool "${name}"`, { hint: 'Call one that is listed.' }),
      );
    }
    const result = await callTool(tool, args, context);
    if (result.waiting === null || approve === null) return result;
    try {
      return await settle(desk, result, result.waiting, approve, context);
    } catch (error) {
      return errorResult(error);
    }
  };
}

async function settle(
  desk: LocalDesk,
  result: ToolResult,
  run: string,
  approve: NonNullable<FunctionOptions['approve']>,
  context: CallContext,
): Promise<ToolResult> {
  const question = await desk.own.skillbox.approvals.question(run);
  if (!question.answers.elicitation?.includes('once')) return result;
  const answer = await approve(question);
  if (answer === null) return result;
  const reply = { answer: answer ? ('once' as const) : ('deny' as const), channel: 'elicitation' as const };
  return settleWaiting(desk.own, run, { ...reply, by: context.client }, context);
}
