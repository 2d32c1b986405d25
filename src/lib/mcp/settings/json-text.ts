import { type Result, fail, ok } from '../../util/result.ts'

/** A JSON value with its position, so that edits keep the text around it. */
export type JsonNode = JsonContainer | JsonScalar

export type JsonContainer = JsonObjectNode | JsonArrayNode

interface JsonObjectNode extends Span {
  readonly kind: 'object'
  readonly members: readonly JsonMember[]
  /** The position after a trailing comma, or null. */
  readonly trailingComma: number | null
}

interface JsonArrayNode extends Span {
  readonly kind: 'array'
  readonly items: readonly JsonNode[]
  readonly trailingComma: number | null
}

interface JsonScalar extends Span {
  readonly kind: 'scalar'
  readonly value: string | number | boolean | null
}

interface JsonMember {
  readonly key: string
  readonly keyStart: number
  readonly value: JsonNode
}

interface Span {
  readonly start: number
  readonly end: number
}

export interface JsonFault {
  readonly what: string
  readonly line: number
  readonly column: number
}

/** `jsonc` is JSON with comments and trailing commas. */
export type JsonDialect = 'json' | 'jsonc'

const maxDepth = 128

class Fault extends Error {
  readonly at: number

  constructor(what: string, at: number) {
    super(what)
    this.at = at
  }
}

/** Parses one value with space (and comments) around it. `text` must not start with a BOM. */
export function parseJsonText(text: string, dialect: JsonDialect): Result<JsonNode, JsonFault> {
  try {
    const reader = new Reader(text, dialect)
    const node = reader.value(skipTrivia(text, 0, dialect), 1)
    const end = skipTrivia(text, node.end, dialect)
    if (end < text.length) throw new Fault('has text after its end', end)
    return ok(node)
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    // In `jsonc` the error is an unterminated comment.
    const isComment = /^\/[/*]/.test(text.slice(error.at, error.at + 2)) && dialect === 'json'
    const what = isComment ? 'has a comment, which JSON does not allow' : error.message
    return fail({ what, ...placeOf(text, error.at) })
  }
}

/**
 * The value without positions. Objects have no prototype, so that `__proto__` is a plain member.
 */
export function plainValue(node: JsonNode): unknown {
  if (node.kind === 'scalar') return node.value
  if (node.kind === 'array') return node.items.map(plainValue)
  const object: Record<string, unknown> = Object.create(null)
  for (const { key, value } of node.members) object[key] = plainValue(value)
  return object
}

/** Skips spaces and comments. */
function skipTrivia(text: string, from: number, dialect: JsonDialect): number {
  let at = from
  for (;;) {
    while (at < text.length && ' \t\r\n'.includes(text.charAt(at))) at++
    if (dialect === 'json' || text.charAt(at) !== '/') return at
    const end = endOfComment(text, at)
    if (end === null) return at
    at = end
  }
}

/** Null when no complete comment starts here. */
export function endOfComment(text: string, at: number): number | null {
  if (text.startsWith('//', at)) {
    const end = text.slice(at).search(/[\r\n]/)
    return end === -1 ? text.length : at + end
  }
  if (!text.startsWith('/*', at)) return null
  const end = text.indexOf('*/', at + 2)
  return end === -1 ? null : end + 2
}

class Reader {
  readonly #text: string
  readonly #dialect: JsonDialect

  constructor(text: string, dialect: JsonDialect) {
    this.#text = text
    this.#dialect = dialect
  }

  value(at: number, depth: number): JsonNode {
    if (depth > maxDepth) throw new Fault(`nests deeper than ${maxDepth} levels`, at)
    const first = this.#text.charAt(at)
    if (first === '{') return this.#object(at, depth)
    if (first === '[') return this.#array(at, depth)
    return this.#scalar(at)
  }

  #object(start: number, depth: number): JsonObjectNode {
    const members: JsonMember[] = []
    const { end, trailingComma } = this.#list(start, '}', at => {
      if (this.#text.charAt(at) !== '"') throw new Fault('has no name before a colon', at)
      const key = this.#scalar(at)
      const colon = this.#skip(key.end)
      if (this.#text.charAt(colon) !== ':') throw new Fault('has no colon after a name', colon)
      const value = this.value(this.#skip(colon + 1), depth + 1)
      members.push({ key: String(key.value), keyStart: at, value })
      return value.end
    })
    return { kind: 'object', start, end, members, trailingComma }
  }

  #array(start: number, depth: number): JsonArrayNode {
    const items: JsonNode[] = []
    const { end, trailingComma } = this.#list(start, ']', at => {
      const item = this.value(at, depth + 1)
      items.push(item)
      return item.end
    })
    return { kind: 'array', start, end, items, trailingComma }
  }

  /** Reads the items between brackets; `read` reads one and returns its end. */
  #list(
    start: number,
    close: string,
    read: (at: number) => number,
  ): { end: number; trailingComma: number | null } {
    let at = this.#skip(start + 1)
    if (this.#text.charAt(at) === close) return { end: at + 1, trailingComma: null }
    for (;;) {
      at = this.#skip(read(at))
      const found = this.#text.charAt(at)
      if (found === close) return { end: at + 1, trailingComma: null }
      if (found !== ',') throw new Fault(`has neither a comma nor ${close}`, at)
      const comma = at
      at = this.#skip(at + 1)
      if (this.#text.charAt(at) !== close) continue
      if (this.#dialect === 'json') throw new Fault('has a trailing comma', comma)
      return { end: at + 1, trailingComma: comma + 1 }
    }
  }

  #scalar(start: number): JsonScalar {
    const end = this.#text.charAt(start) === '"' ? this.#endOfString(start) : this.#endOfWord(start)
    try {
      const value = JSON.parse(this.#text.slice(start, end))
      return { kind: 'scalar', start, end, value }
    } catch {
      throw new Fault('has an invalid value', start)
    }
  }

  #endOfString(start: number): number {
    for (let at = start + 1; at < this.#text.length; at++) {
      const found = this.#text.charAt(at)
      if (found === '"') return at + 1
      if (found === '\\') at++
    }
    throw new Fault('has an unterminated string', start)
  }

  /** The end of a number, `true`, `false` or `null`; the caller validates it. */
  #endOfWord(start: number): number {
    let at = start
    while (/[\w.+-]/.test(this.#text.charAt(at))) at++
    return at
  }

  #skip(at: number): number {
    return skipTrivia(this.#text, at, this.#dialect)
  }
}

function placeOf(text: string, at: number): { line: number; column: number } {
  const lines = text.slice(0, at).split(/\r\n|\r|\n/)
  return { line: lines.length, column: (lines.at(-1)?.length ?? 0) + 1 }
}
