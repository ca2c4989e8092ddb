import { Agent, request } from 'undici';
import type { ModelEndpoint } from '../../config/analysis.ts';
import { fieldsOf, itemsOf, type Fields } from '../../json-values.ts';
import { codeOf } from '../../system-errors.ts';

/** One call of the chat completions protocol, with limits on time and size. */

export type ToolCall = { id: string; name: string; arguments: string };

export type ChatMessage =
  | { role: 'system' | 'user'; content: string }
  | { role: 'assistant'; content: string; toolCalls?: readonly ToolCall[] }
  | { role: 'tool'; toolCallId: string; content: string };

export type Tool = { name: string; description: string; parameters: object };

export type ChatAnswer = {
  content: string;
  toolCalls: ToolCall[];
  /** Tokens of prompt and answer together, as the endpoint reports them; estimated otherwise. */
  tokens: number;
};

/** Why no answer arrived; the message never contains the key. */
export class ChatError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'ChatError';
  }
}

/** Calls carry a key: they verify the server, whatever NODE_TLS_REJECT_UNAUTHORIZED says. */
const verifying = new Agent({ connect: { rejectUnauthorized: true } });

const answerBytes = 1024 * 1024;
const shownCharacters = 300;

/** Throws ChatError. `timeoutMs` applies to the whole call, `maxTokens` to the answer. */
export async function chat(
  endpoint: ModelEndpoint,
  options: {
    messages: readonly ChatMessage[];
    tools?: readonly Tool[];
    maxTokens: number;
    timeoutMs: number;
    signal: AbortSignal;
    /** Requests an answer in JSON. */
    json?: boolean;
  },
): Promise<ChatAnswer> {
  const { messages, tools = [], maxTokens, timeoutMs, signal, json = false } = options;
  const body = JSON.stringify({
    model: endpoint.model,
    messages: messages.map(onTheWire),
    max_tokens: maxTokens,
    temperature: 0,
    ...(json ? { response_format: { type: 'json_object' } } : {}),
    ...(tools.length === 0 ? {} : { tools: tools.map((tool) => ({ type: 'function', function: tool })) }),
  });
  const timeout = AbortSignal.timeout(timeoutMs);
  let status: number;
  let text: string;
  try {
    const response = await request(`${endpoint.url}/chat/completions`, {
      dispatcher: verifying,
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(endpoint.key === null ? {} : { authorization: `Bearer ${endpoint.key.reveal()}` }),
      },
      body,
      signal: AbortSignal.any([timeout, signal]),
    });
    status = response.statusCode;
    text = await readLimited(response.body);
  } catch (error) {
    if (error instanceof ChatError) throw error;
    if (timeout.aborted)
      throw new ChatError(`the model endpoint did not answer within ${timeoutMs / 1000} s`);
    if (signal.aborted) throw new ChatError('the call of the model endpoint was cancelled');
    const code = codeOf(error);
    throw new ChatError(`the model endpoint could not be reached${code === undefined ? '' : ` (${code})`}`);
  }
  if (status > 299) {
    // Some endpoints repeat the refused key in their answer.
    const key = endpoint.key?.reveal() ?? '';
    const shown = key === '' ? text : text.replaceAll(key, '***');
    throw new ChatError(`the model endpoint answered ${status}: ${shown.slice(0, shownCharacters)}`);
  }
  return parseAnswer(text, body.length);
}

async function readLimited(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > answerBytes)
      throw new ChatError(`the model endpoint's answer is longer than ${answerBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function onTheWire(message: ChatMessage): object {
  switch (message.role) {
    case 'tool':
      return { role: 'tool', tool_call_id: message.toolCallId, content: message.content };
    case 'assistant': {
      const { content, toolCalls = [] } = message;
      const calls = toolCalls.map(({ id, name, arguments: text }) => ({
        id,
        type: 'function',
        function: { name, arguments: text },
      }));
      return { role: 'assistant', content, ...(calls.length === 0 ? {} : { tool_calls: calls }) };
    }
    default:
      return message;
  }
}

function parseAnswer(text: string, promptLength: number): ChatAnswer {
  let parsed: Readonly<Fields>;
  try {
    parsed = fieldsOf(JSON.parse(text));
  } catch {
    throw new ChatError("the model endpoint's answer is not JSON");
  }
  const message = fieldsOf(fieldsOf(itemsOf(parsed['choices'])[0])['message']);
  const content = typeof message['content'] === 'string' ? message['content'] : '';
  const toolCalls = itemsOf(message['tool_calls'])
    .slice(0, 10)
    .map((call) => ({ id: fieldsOf(call)['id'], ...fieldsOf(fieldsOf(call)['function']) }))
    .flatMap(({ id, ...call }): ToolCall[] => {
      const { name, arguments: given } = call as Readonly<Fields>;
      if (typeof name !== 'string') return [];
      return [
        { id: typeof id === 'string' ? id : name, name, arguments: typeof given === 'string' ? given : '{}' },
      ];
    });
  if (content === '' && toolCalls.length === 0) throw new ChatError("the model endpoint's answer is empty");
  const { total_tokens: total } = fieldsOf(parsed['usage']);
  const tokens = typeof total === 'number' && total > 0 ? total : Math.ceil((promptLength + text.length) / 4);
  return { content, toolCalls, tokens };
}
