import type { RequestId, RpcError } from '../../lib/mcp/json-rpc.ts'
import { wellFormedJson } from '../../lib/util/json.ts'
import { asBuffer, base64Length } from '../resources/base64.ts'
import { ServiceError } from '../../lib/util/errors.ts'
import type {
  BlobContent,
  Content,
  RelayedContents,
  RelayedJson,
  StreamedBlob,
} from '../resources/producer.ts'

/**
 * A piece of a JSON text: text, ASCII bytes inside a string, bytes still to be base64-encoded, or
 * JSON that is still coming.
 */
export type JsonPart = string | Uint8Array | StreamedBlob | RelayedJson

/** From here on a text is encoded once and its bytes are shared by all who are sent them. */
const largeChars = 64 * 1024

/**
 * JSON that is already serialised and is written unchanged, except that it becomes well-formed: strict
 * clients refuse a whole listing for half a surrogate pair in one name. A blob is a separate part, so
 * that megabytes are neither escaped nor copied, and a large one is never held.
 */
export class JsonText {
  readonly parts: readonly JsonPart[]
  /** NaN: not known before it is sent. */
  readonly byteLength: number
  /** The result of a tool that failed. */
  readonly isFailure: boolean

  /** `byteLength`: of parts that another `JsonText` has checked. */
  constructor(
    parts: readonly JsonPart[],
    { isFailure = false, byteLength }: { isFailure?: boolean; byteLength?: number } = {},
  ) {
    this.parts = byteLength === undefined ? parts.map(asSent) : parts
    this.byteLength = byteLength ?? this.parts.reduce((sum, part) => sum + partLength(part), 0)
    this.isFailure = isFailure
  }

  /** The members of an object without its braces: an envelope goes around them. */
  static membersOf(value: object): JsonText {
    return new JsonText([JSON.stringify(value).slice(1, -1)])
  }

  /** This text between two others. No byte of it is serialised or counted again. */
  within(head: string, tail: string): JsonText {
    const [only] = this.parts
    const isOneText = this.parts.length === 1 && typeof only === 'string'
    const parts = isOneText ? [`${head}${only}${tail}`] : [head, ...this.parts, tail]
    const byteLength = this.byteLength + Buffer.byteLength(head) + tail.length
    return new JsonText(parts, { isFailure: this.isFailure, byteLength })
  }
}

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

/**
 * The answer to a request. `opening`: serialised members, each with a comma after it, that the
 * transport puts before those of the result.
 */
export function resultMessage(id: RequestId, members: JsonText, opening = ''): JsonText {
  // The id comes back as it was sent, well-formed or not.
  return members.within(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{${opening}`, '}}')
}

/** Without an id where the revision leaves it out: undefined. */
export function errorMessage(id: RequestId | null | undefined, error: RpcError): JsonText {
  const named = id === undefined ? '' : `"id":${JSON.stringify(id)},`
  return JsonText.membersOf(error).within(`{"jsonrpc":"2.0",${named}"error":{`, '}}')
}

/** The result of another server of this program, which has made it well-formed, as it comes. */
export function relayedText(members: RelayedContents, isBatched: boolean): JsonText {
  // One that breaks off would break the other answers of a batch, too.
  if (typeof members !== 'string' && isBatched) {
    members.discard()
    throw new ServiceError('resource_failed', 'too large for a batch: ask for it alone')
  }
  const byteLength = typeof members === 'string' ? Buffer.byteLength(members) : NaN
  return new JsonText([members], { byteLength })
}

/** The member `contents` of the result of a read. */
export function contentsText(contents: readonly Content[]): JsonText {
  return new JsonText(listParts('"contents":[', contents, 'blob', ']'))
}

/** Objects of a list between two texts. Bytes in the member `key` become a part of their own. */
export function listParts(head: string, items: readonly object[], key: string, tail: string) {
  const parts: JsonPart[] = []
  let text = head
  items.forEach((item, index) => {
    const { [key]: bytes, ...rest } = item as Record<string, unknown>
    const json = JSON.stringify(rest)
    text += index > 0 ? `,${json}` : json
    if (bytes === undefined) return
    parts.push(`${text.slice(0, -1)},"${key}":"`, blobPart(bytes as BlobContent['blob']))
    text = '"}'
  })
  return [...parts, text + tail]
}

function blobPart(blob: BlobContent['blob']): JsonPart {
  if (typeof blob === 'string') return blob
  if (blob instanceof Uint8Array) return asBuffer(blob).toString('base64')
  return 'base64' in blob ? blob.base64 : blob
}
