import { initializeBody } from '../helpers/mcp.ts'

/** Numbers from a seed: the same seed, the same case. */
export class Dice {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** 0 ≤ n < limit; mulberry32. */
  below(limit: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * limit)
  }

  oneIn(n: number): boolean {
    return this.below(n) === 0
  }

  pick<Item>(items: readonly Item[]): Item {
    const item = items[this.below(items.length)]
    if (item === undefined) throw new Error('nothing to pick from')
    return item
  }
}

export interface FuzzCase {
  method: string
  path: string
  /** Alternating names and values: a name may come twice. */
  headers: string[]
  body: Buffer
}

/** What is right, so that cases get past the first check. */
export interface FuzzTarget {
  sessions: readonly string[]
  token: string
  hex: string
}

const methods = [
  'initialize',
  'ping',
  'resources/list',
  'resources/read',
  'resources/read',
  'resources/read',
  'resources/templates/list',
  'resources/subscribe',
  'resources/unsubscribe',
  'completion/complete',
  'notifications/initialized',
  'notifications/cancelled',
  'tools/list',
  'toString',
  '',
]

const texts = [
  '',
  ' ',
  '\0',
  '\n',
  '\ud800',
  '\u202e',
  '😀',
  '__proto__',
  'constructor',
  '../..',
  '%2e%2e%2f',
  '%',
  '?limit=1&limit=2',
  '?since=-1',
  '#',
  'x'.repeat(3000),
  'a'.repeat(64),
  '${7*7}',
  '1e999',
]

export function messageCase(dice: Dice, target: FuzzTarget): FuzzCase {
  const message = dice.oneIn(12)
    ? Array.from({ length: dice.below(5) }, () => rpcMessage(dice, target))
    : rpcMessage(dice, target)
  const text = dice.oneIn(10) ? initializeBody() : (JSON.stringify(message) ?? '')
  const body = dice.oneIn(5) ? mutate(dice, Buffer.from(text)) : Buffer.from(text)
  const headers = ['Host', '127.0.0.1']
  const add = (name: string, right: string, wrong: readonly string[], every = 40) => {
    if (dice.oneIn(every * 2)) return
    headers.push(name, dice.oneIn(every) ? dice.pick(wrong) : right)
    if (dice.oneIn(every * 3)) headers.push(name, dice.pick(wrong))
  }
  add('Content-Type', 'application/json', [
    'text/plain',
    'application/json; charset=latin1',
    ';',
    '',
  ])
  add('Accept', 'application/json, text/event-stream', ['text/html', '*/*', ',,', 'a/b;q=x'])
  add('Mcp-Session-Id', dice.pick(target.sessions), ['', 'x', 'x'.repeat(500), '__proto__'])
  add('MCP-Protocol-Version', '2025-03-26', ['2024-11-05', '1999-01-01', '2026-07-28', '', 'x'])
  if (dice.oneIn(20)) headers.push('Origin', dice.pick(['http://localhost', 'null', 'http://x']))
  if (dice.oneIn(40)) headers.push('Authorization', dice.pick(['Bearer x', 'Basic', '']))
  const method = dice.oneIn(30) ? dice.pick(['GET', 'DELETE', 'PUT', 'OPTIONS', 'HEAD']) : 'POST'
  const path = dice.oneIn(50) ? mutateText(dice, '/mcp') : '/mcp'
  return { method, path, headers, body }
}

/** Posts of an application, and downloads, half right. */
export function otherCase(dice: Dice, target: FuzzTarget): FuzzCase {
  const route = dice.pick(['scene', 'audit', 'events/s1', 'artefacts', 'artefacts?display_name=x'])
  const bodies: Record<string, unknown> = {
    scene: json(dice, 4),
    audit: {
      records: [{ action: dice.pick(texts), params: json(dice, 3), outcome: json(dice, 1) }],
    },
    'events/s1': {
      events: [{ source: 's', stream: 't', message: dice.pick(texts), metadata: json(dice, 2) }],
    },
  }
  const text = JSON.stringify(bodies[route] ?? json(dice, 2)) ?? ''
  const key = dice.oneIn(8) ? dice.pick(['', 'Bearer x', 'Bearer']) : `Bearer ${target.token}`
  const headers = ['Host', 'localhost', 'Authorization', key, 'Content-Type', 'application/json']
  if (dice.oneIn(4)) {
    const address = `/artefacts/sha256/${target.hex}`
    const range = mutateText(dice, 'bytes=0-10')
    return {
      method: dice.pick(['GET', 'HEAD']),
      path: dice.oneIn(2) ? mutateText(dice, address) : address,
      headers: [...headers, 'Range', range, 'If-None-Match', dice.pick(['*', '"x"', 'W/'])],
      body: Buffer.alloc(0),
    }
  }
  const path = `/host/v1/${route}`
  return {
    method: dice.oneIn(15) ? 'PUT' : 'POST',
    path: dice.oneIn(6) ? mutateText(dice, path) : path,
    headers,
    body: dice.oneIn(3) ? mutate(dice, Buffer.from(text)) : Buffer.from(text),
  }
}

/** The bytes of a request, damaged anywhere. */
export function rawCase(dice: Dice, target: FuzzTarget): Buffer {
  const { method, path, headers, body } = messageCase(dice, target)
  const lines = [`${method} ${path} HTTP/1.1`]
  for (let at = 0; at < headers.length; at += 2) lines.push(`${headers[at]}: ${headers[at + 1]}`)
  const length = dice.oneIn(6) ? dice.below(body.length * 2 + 1) : body.length
  lines.push(dice.oneIn(8) ? 'Transfer-Encoding: chunked' : `Content-Length: ${length}`)
  const bytes = Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), body])
  return dice.oneIn(4) ? bytes : mutate(dice, bytes)
}

function rpcMessage(dice: Dice, target: FuzzTarget): unknown {
  if (dice.oneIn(25)) return json(dice, 3)
  const message: Record<string, unknown> = {
    jsonrpc: dice.oneIn(60) ? json(dice, 1) : '2.0',
    id: dice.oneIn(15) ? json(dice, 1) : dice.below(1000),
    method: dice.oneIn(40) ? json(dice, 1) : dice.pick(methods),
    params: params(dice, target),
  }
  for (const name of Object.keys(message)) if (dice.oneIn(60)) delete message[name]
  if (dice.oneIn(30)) message[dice.pick(texts)] = json(dice, 2)
  return message
}

function params(dice: Dice, target: FuzzTarget): unknown {
  if (dice.oneIn(20)) return json(dice, 3)
  const right = [
    'scene://current',
    'scene://delta?since=1',
    'audit://recent?limit=5',
    'events://session/s1?cursor=1&limit=2',
    'events://session/s1?drain=true',
    `artefact://sha256/${target.hex}`,
    'capture://current_window?max_width=100',
  ]
  const uri = dice.oneIn(2) ? dice.pick(right) : mutateText(dice, dice.pick(right))
  return {
    uri: dice.oneIn(20) ? json(dice, 2) : uri,
    ...(dice.oneIn(5) && { cursor: dice.oneIn(2) ? dice.pick(texts) : json(dice, 1) }),
    ...(dice.oneIn(4) && {
      ref: dice.oneIn(5) ? json(dice, 2) : { type: 'ref/resource', uri: 'artefact://sha256/{hex}' },
      argument: dice.oneIn(5) ? json(dice, 2) : { name: 'hex', value: dice.pick(texts) },
    }),
    ...(dice.oneIn(8) && { protocolVersion: json(dice, 1), capabilities: json(dice, 2) }),
    ...(dice.oneIn(10) && { _meta: json(dice, 2) }),
  }
}

function json(dice: Dice, depth: number): unknown {
  const kind = dice.below(depth > 0 ? 8 : 6)
  if (kind === 0) return null
  if (kind === 1) return dice.oneIn(2)
  if (kind === 2) return dice.pick([0, -1, 1.5, 2 ** 53, 1e308, -0, dice.below(100)])
  if (kind < 6) return dice.pick(texts)
  const values = Array.from({ length: dice.below(4) }, () => json(dice, depth - 1))
  return kind === 6
    ? values
    : Object.fromEntries(values.map(value => [dice.pick(['a', ...texts]), value]))
}

function mutateText(dice: Dice, text: string): string {
  const at = dice.below(text.length + 1)
  // What an address or a header can carry at all: the rest is `rawCase`'s.
  const extra = dice.pick([
    '/',
    '..',
    '%2e',
    '%00',
    '%ff',
    '?',
    '&a=b',
    ':',
    '-',
    '9',
    'A',
    ';',
    '@',
  ])
  return dice.oneIn(2) ? text.slice(0, at) + extra + text.slice(at) : text.slice(0, at) + extra
}

/** Damages bytes in one to three places. */
function mutate(dice: Dice, bytes: Buffer): Buffer {
  let result = Buffer.from(bytes)
  for (let times = dice.below(3); times >= 0; times--) {
    const at = dice.below(result.length + 1)
    const end = Math.min(result.length, at + 1 + dice.below(8))
    const [before, piece, after] = [
      result.subarray(0, at),
      result.subarray(at, end),
      result.subarray(end),
    ]
    const other = Buffer.from(
      dice.pick([
        '',
        '"',
        '[',
        '{',
        '}',
        ',',
        ':',
        '\\',
        '\\u0000',
        '0',
        '-',
        '\r\n',
        '\xff',
        '\0',
      ]),
      'latin1',
    )
    const changed = [
      [before, other, after],
      [before, piece, piece, after],
      [before, after],
      [before, other, piece, after],
      [before],
      [before, Buffer.alloc(70, '['), piece, after],
    ]
    result = Buffer.concat(dice.pick(changed))
  }
  return result
}
