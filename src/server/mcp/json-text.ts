import { base64Length } from '../../lib/base64.ts'
import type { StreamedBlob } from '../resources/producer.ts'
import type { RpcError } from './errors.ts'
import type { RequestId } from './json-rpc.ts'

/** A piece of a JSON text: text, ASCII bytes inside a string, or bytes still to be base64-encoded. */
export type JsonPart = string | Uint8Array | StreamedBlob

/**
 * JSON that is serialised already and written as it is. A blob is a part of its own, so that
 * megabytes are neither escaped nor copied, and a large one is never held.
 */
export class JsonText {
  readonly parts: readonly JsonPart[]
  readonly byteLength: number

  constructor(parts: readonly JsonPart[]) {
    this.parts = parts.map(asBytesWhenLarge)
    this.byteLength = parts.reduce((sum, part) => sum + partLength(part), 0)
  }

  static of(value: unknown): JsonText {
    return new JsonText([JSON.stringify(value)])
  }
}

/** From here on a text is encoded once and its bytes are shared by all who are sent them. */
const largeChars = 64 * 1024

function asBytesWhenLarge(part: JsonPart): JsonPart {
  return typeof part === 'string' && part.length >= largeChars ? Buffer.from(part) : part
}

function partLength(part: JsonPart): number {
  if (typeof part === 'string') return Buffer.byteLength(part)
  return part instanceof Uint8Array ? part.byteLength : base64Length(part.size)
}

/** The answer to a request: the result with an envelope around it, nothing serialised again. */
export function resultMessage(id: RequestId, result: JsonText): JsonText {
  const head = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":`
  return new EnvelopedText(head, result)
}

export function errorMessage(id: RequestId | null, error: RpcError): JsonText {
  return JsonText.of({ jsonrpc: '2.0', id, error })
}

/** Knows its length from the parts it wraps: the hot path counts no byte twice. */
class EnvelopedText implements JsonText {
  readonly parts: readonly JsonPart[]
  readonly byteLength: number

  constructor(head: string, inner: JsonText) {
    const [only] = inner.parts
    this.parts =
      inner.parts.length === 1 && typeof only === 'string'
        ? [`${head}${only}}`]
        : [head, ...inner.parts, '}']
    this.byteLength = inner.byteLength + Buffer.byteLength(head) + 1
  }
}
