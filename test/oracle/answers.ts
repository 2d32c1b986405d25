import { once } from 'node:events'
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http'
import { isJsonObject } from '../../src/lib/util/json.ts'

/** What one server said to one raw request. */
export interface Answer {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  /** The body; of an event stream the first message, and nothing when it answers no POST. */
  readonly text: string
}

export interface RawRequest {
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Buffer
}

/** A server that has not answered by then never will. */
const patienceMs = 50_000

export function createAgent(): Agent {
  return new Agent({ keepAlive: true, maxSockets: 8 })
}

/** Sends exactly these headers (and Host, when none is named). Null: the server never answered. */
export async function exchange(
  url: string,
  { method, headers, body }: RawRequest,
  agent: Agent,
): Promise<Answer | null> {
  const signal = AbortSignal.timeout(patienceMs)
  try {
    const req = httpRequest(url, { method, headers, agent, signal })
    // An early answer may close the connection while the body is still being written.
    req.on('error', () => {})
    req.end(body)
    const [res] = (await once(req, 'response', { signal })) as [IncomingMessage]
    const isStream = res.headers['content-type']?.startsWith('text/event-stream') === true
    const text = isStream ? await firstMessage(res, method === 'POST') : await whole(res)
    return { status: res.statusCode ?? 0, headers: res.headers, text }
  } catch (error) {
    if (signal.aborted) return null
    throw error
  }
}

async function whole(res: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of res) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}

/** Leaves the stream after its first message; one that nobody asked anything brings none. */
async function firstMessage(res: IncomingMessage, isRequired: boolean): Promise<string> {
  let text = ''
  if (isRequired) {
    for await (const chunk of res) {
      text += String(chunk)
      const data = /^data: ?(.+)\r?\n\r?\n/m.exec(text)
      if (data !== null) return data[1] ?? ''
    }
  }
  res.on('error', () => {})
  res.destroy()
  return ''
}

/** What of an answer two servers must have in common. Texts of messages are each one's own. */
export interface Observation {
  readonly status: number
  /** Content-Type without parameters. */
  readonly type: string | null
  /** `result`, `error`, `batch`, `notifications/…`; `none` without a JSON-RPC body. */
  readonly message: string
  readonly code: string | null
  /** As JSON, so that `1` and `"1"` differ. */
  readonly id: string | null
  /** Members of a result, or those of an error's data that MCP defines. */
  readonly members: string | null
  /** What was read, or what the protocol fixes of an error's data. */
  readonly value: string | null
  readonly allow: string | null
  /** A session was opened. */
  readonly session: boolean
  readonly challenge: boolean
}

export type Field = keyof Observation

/** A server that does not answer at all. */
const silence: Observation = {
  status: 0,
  type: null,
  message: 'none',
  code: null,
  id: null,
  members: null,
  value: null,
  allow: null,
  session: false,
  challenge: false,
}

export function observe(answer: Answer | null, asked: RawRequest): Observation {
  if (answer === null) return silence
  const { status, headers } = answer
  return {
    ...silence,
    status,
    type: headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase() ?? null,
    allow:
      headers.allow
        ?.split(',')
        .map(word => word.trim())
        .sort()
        .join(', ') ?? null,
    // A server may repeat the id on every answer of a session; what counts is who is given a new one.
    session: headers['mcp-session-id'] !== undefined && !('Mcp-Session-Id' in asked.headers),
    challenge: headers['www-authenticate'] !== undefined,
    ...describe(parsed(answer.text)),
  }
}

/** The fields in which two answers differ. */
export function differing(ours: Observation, theirs: Observation): Field[] {
  return (Object.keys(silence) as Field[]).filter(field => ours[field] !== theirs[field])
}

type Described = Pick<Observation, 'message' | 'code' | 'id' | 'members' | 'value'>

function describe(body: unknown): Partial<Described> {
  if (Array.isArray(body)) return describeBatch(body)
  if (!isJsonObject(body)) return {}
  const { id, method, error, result } = body
  const named = 'id' in body ? { id: JSON.stringify(id) } : {}
  if (typeof method === 'string') {
    return { message: method, ...named, value: canonical(body.params) }
  }
  if (isJsonObject(error)) {
    const data = definedData(error.data)
    return {
      message: 'error',
      code: String(error.code),
      ...named,
      members: Object.keys(data).join(' ') || null,
      value: Object.keys(data).length === 0 ? null : canonical(data),
    }
  }
  if (!isJsonObject(result)) return {}
  return {
    message: 'result',
    ...named,
    members: Object.keys(result)
      .filter(name => name !== 'instructions')
      .sort()
      .join(' '),
    value: comparableValue(result),
  }
}

/** The answers of a batch may come in any order. */
function describeBatch(body: readonly unknown[]): Partial<Described> {
  const answers = body.map(each => {
    const { code = null, id = null } = describe(each)
    return { code: code ?? 'ok', id: String(id) }
  })
  answers.sort((a, b) => `${a.id} ${a.code}`.localeCompare(`${b.id} ${b.code}`))
  return {
    message: 'batch',
    code: answers.map(({ code }) => code).join(' '),
    id: answers.map(({ id }) => id).join(' '),
  }
}

/** What -32020 to -32022 and "not found" must say beside their number. */
const definedMembers = ['requested', 'requiredCapabilities', 'supported', 'uri']

function definedData(data: unknown): Record<string, unknown> {
  if (!isJsonObject(data)) return {}
  return Object.fromEntries(
    definedMembers.filter(name => name in data).map(name => [name, data[name]]),
  )
}

/**
 * Contents, completed values and negotiated versions are the same on both servers; names, hints and
 * totals are not.
 */
function comparableValue(result: Readonly<Record<string, unknown>>): string | null {
  const { contents, protocolVersion, completion, resultType } = result
  const values = isJsonObject(completion) ? completion.values : undefined
  return canonical({ contents, protocolVersion, values, resultType })
}

/** JSON in which the order of members says nothing. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, member: unknown) =>
    isJsonObject(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  )
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
