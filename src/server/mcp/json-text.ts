import { wellFormedJson } from '../../lib/util/json.ts'
import { base64Length } from '../resources/base64.ts'
import type { RequestId, RpcError } from '../../lib/mcp/json-rpc.ts'
import type { RelayedJson, StreamedBlob } from '../resources/producer.ts'

/**
 * A piece of a JSON text: text, ASCII bytes inside a string, bytes still to be base64-encoded, or
 * JSON that is still coming.
 */
export type JsonPart = string | Uint8Array | StreamedBlob | RelayedJson

/**
 * JSON that is already serialised and is written unchanged, except that it becomes well-formed:
 * strict clients refuse all of a listing for half a surrogate pair in one name. A blob is a separate part, so that
 * megabytes are neither escaped nor copied, and a large one is never held.
 */
export class JsonText {
  readonly parts: readonly JsonPart[]
  /** NaN: not known before it is sent. */
  readonly byteLength: number
  /** The result of a tool that failed. */
  readonly isFailure: boolean

  constructor(parts: JsonPart[], { isFailure = false } = {}) {
    this.isFailure = isFailure
    this.parts = parts.map(asSent)
    this.byteLength = this.parts.reduce((sum, part) => sum + partLength(part), 0)
  }

  static of(value: unknown): JsonText {
    return new JsonText([JSON.stringify(value)])
  }

  /**
   * The members of an object without its braces: more can be put before them, see `ResultOpening`.
   */
  static membersOf(value: object): JsonText {
    return new JsonText([JSON.stringify(value).slice(1, -1)])
  }
}

/** From here on a text is encoded once and its bytes are shared by all who are sent them. */
const largeChars = 64 * 1024

function asSent(part: JsonPart): JsonPart {
  if (typeof part !== 'string') return part
  const text = wellFormedJson(part)
  return text.length >= largeChars ? Buffer.from(text) : text
}

function partLength(part: JsonPart): number {
  if (typeof part === 'string') return Buffer.byteLength(part)
  if (part instanceof Uint8Array) return part.byteLength
  return 'size' in part ? base64Length(part.size) : NaN
}

/** Members that a transport puts before those of every result, serialised once. */
export class ResultOpening {
  readonly text: string

  /** With members, the result must have at least one member, too: a comma separates them. */
  constructor(members: object = {}) {
    const text = JSON.stringify(members).slice(1, -1)
    this.text = text === '' ? '' : `${text},`
  }
}

const plainOpening = new ResultOpening()
const tail = '}}'

/**
 * The answer to a request: an envelope around the members of the result, nothing serialised again.
 */
export function resultMessage(
  id: RequestId,
  members: JsonText,
  opening: ResultOpening = plainOpening,
): JsonText {
  // The id comes back as it was sent, well-formed or not.
  const head = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{${opening.text}`
  return new EnvelopedText(head, members)
}

/** Without an id where the revision leaves it out: undefined. */
export function errorMessage(id: RequestId | null | undefined, error: RpcError): JsonText {
  const named = id === undefined ? '' : `"id":${JSON.stringify(id)},`
  return new EnvelopedText(`{"jsonrpc":"2.0",${named}"error":{`, JsonText.membersOf(error))
}

/** Knows its length from the parts it wraps: the hot path counts no byte of them twice. */
class EnvelopedText implements JsonText {
  readonly parts: readonly JsonPart[]
  readonly byteLength: number
  readonly isFailure: boolean

  constructor(head: string, inner: JsonText) {
    const [only] = inner.parts
    this.parts =
      inner.parts.length === 1 && typeof only === 'string'
        ? [`${head}${only}${tail}`]
        : [head, ...inner.parts, tail]
    this.byteLength = inner.byteLength + Buffer.byteLength(head) + tail.length
    this.isFailure = inner.isFailure
  }
}
