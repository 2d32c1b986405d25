import { createServer } from 'node:http'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import type { AddressInfo } from 'node:net'

/** What the stub asks the program to call. A text is the input of a freeform tool. */
export interface Call {
  name: string
  args: object | string
  /** Group of the tool, where the program has groups. */
  namespace?: string
}

/** What reached the stub: parts of the conversation behind the last call. */
export interface Turn {
  arrived: unknown[]
}

export interface StubModel {
  url: string
  /** By number of the calls made before: the first turn holds the question itself. */
  turns: Turn[]
  stop(): Promise<void>
}

type ServerEvent = [event: string | null, data: unknown]

/** One API for models, as far as these programs use it. */
interface WireFormat {
  path: RegExp
  /** The conversation, oldest first. */
  parts(request: any): any[]
  isCall(part: any): boolean
  /** The events of a streamed answer: a call, or the words that end the turn. */
  answer(call: Call | null, id: number): ServerEvent[]
}

const done = 'done'
const byType = (events: ({ type: string } & Record<string, unknown>)[]): ServerEvent[] =>
  events.map(event => [event.type, event])

const anthropicMessages: WireFormat = {
  path: /\/v1\/messages$/,
  parts: request => request.messages.flatMap(({ content }: any) => content),
  isCall: part => part.type === 'tool_use',
  answer(call, id) {
    const block = call && { type: 'tool_use', id: `toolu_${id}`, name: call.name, input: {} }
    const input = call && { type: 'input_json_delta', partial_json: JSON.stringify(call.args) }
    const usage = { input_tokens: 1, output_tokens: 1 }
    const message = { id: `msg_${id}`, type: 'message', role: 'assistant', content: [], usage }
    const delta = { stop_reason: call ? 'tool_use' : 'end_turn' }
    return byType([
      { type: 'message_start', message },
      { type: 'content_block_start', index: 0, content_block: block ?? { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: input ?? { type: 'text_delta', text: done } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta, usage },
      { type: 'message_stop' },
    ])
  },
}

const openAiChat: WireFormat = {
  path: /\/chat\/completions$/,
  parts: request => request.messages,
  isCall: part => part.tool_calls?.length > 0,
  answer(call, id) {
    const asked = call && { name: call.name, arguments: JSON.stringify(call.args) }
    const called = { index: 0, id: `call_${id}`, type: 'function', function: asked }
    const delta = call ? { role: 'assistant', tool_calls: [called] } : { content: done }
    const chunk = { id: `chat_${id}`, object: 'chat.completion.chunk', created: 1, model: 'stub' }
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
    const end = { index: 0, delta: {}, finish_reason: call ? 'tool_calls' : 'stop' }
    return [
      [null, { ...chunk, choices: [{ index: 0, delta, finish_reason: null }] }],
      [null, { ...chunk, choices: [end], usage }],
      [null, '[DONE]'],
    ]
  },
}

const openAiResponses: WireFormat = {
  path: /\/responses$/,
  parts: request => request.input,
  isCall: part => part.type.endsWith('_call'),
  answer(call, id) {
    const item = call ? calledItem(call, id) : { type: 'message', role: 'assistant', content: [] }
    const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 }
    const response = { id: `resp_${id}`, usage }
    return byType([
      { type: 'response.created', response: { id: response.id } },
      { type: 'response.output_item.done', output_index: 0, item },
      { type: 'response.completed', response },
    ])
  },
}

function calledItem({ name, namespace, args }: Call, id: number): object {
  const call_id = `call_${id}`
  if (typeof args === 'string') return { type: 'custom_tool_call', call_id, name, input: args }
  return { type: 'function_call', call_id, name, namespace, arguments: JSON.stringify(args) }
}

const geminiGenerate: WireFormat = {
  path: /:streamGenerateContent$/,
  parts: request => request.contents.flatMap(({ parts }: any) => parts),
  isCall: part => part.functionCall !== undefined,
  answer(call) {
    const part = call ? { functionCall: call } : { text: done }
    const candidate = { content: { role: 'model', parts: [part] }, finishReason: 'STOP', index: 0 }
    return [[null, { candidates: [candidate] }]]
  },
}

const wireFormats = [anthropicMessages, openAiChat, openAiResponses, geminiGenerate]

/**
 * Starts a server in place of a model. It asks for the calls in their order, then ends the turn.
 * `before` is awaited before a turn is answered; it gets the number of calls made.
 */
export async function startStubModel(
  script: Call[],
  before: (made: number) => Promise<void> = async () => {},
): Promise<StubModel> {
  const turns: Turn[] = []
  const server = createServer(async (incoming, outgoing) => {
    const body = await text(incoming)
    const path = new URL(incoming.url ?? '', 'http://stub').pathname
    const format = wireFormats.find(each => each.path.test(path))
    if (format === undefined) return outgoing.writeHead(404).end('{}')
    const request = JSON.parse(body)
    const parts = format.parts(request)
    const made = parts.filter(part => format.isCall(part)).length
    // Titles and the like are asked for without tools; Codex may have them among the parts.
    const isTurn = request.tools?.length > 0 || parts.some(part => part.tools !== undefined)
    if (isTurn) {
      turns[made] = { arrived: parts.slice(parts.findLastIndex(format.isCall) + 1) }
      await before(made)
    }
    const events = format.answer((isTurn && script[made]) || null, made)
    outgoing.writeHead(200, { 'Content-Type': 'text/event-stream' })
    for (const [event, data] of events) {
      const line = typeof data === 'string' ? data : JSON.stringify(data)
      outgoing.write(`${event === null ? '' : `event: ${event}\n`}data: ${line}\n\n`)
    }
    outgoing.end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    turns,
    async stop() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
