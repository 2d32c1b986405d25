import { asBuffer } from '../resources/base64.ts'
import { isJsonObject, type JsonObject } from '../../lib/util/json.ts'
import { ServiceError } from '../../lib/util/errors.ts'
import { ResourceUriInvalid } from '../resources/errors.ts'
import type { BlobContent, Content, Reader, RelayedContents } from '../resources/producer.ts'
import type { ListPage } from '../resources/listing.ts'
import type { ServedResources } from '../resources/served-resources.ts'
import { type JsonPart, JsonText } from './json-text.ts'

type Answer = JsonText | Promise<JsonText>

/**
 * The methods on resources that all revisions share, from unchecked params to the serialised
 * members of the result: each transport puts its own before them.
 */
export interface ResourceMethods {
  list(params: JsonObject, reader?: Reader): Answer
  listTemplates(params: JsonObject): Answer
  /** `isBatched`: other answers follow in the same text. */
  read(params: JsonObject, reader?: Reader, isBatched?: boolean): Answer
  complete(params: JsonObject): Answer
}

/**
 * An answer is serialised once for as long as the resource registry hands out the identical frozen
 * object: identity is how it says "unchanged". The maps are weak, so a superseded state keeps nothing.
 */
export function createResourceMethods(registry: ServedResources): ResourceMethods {
  const pages = new WeakMap<ListPage, JsonText>()
  const reads = new WeakMap<readonly Content[], JsonText>()
  const serialisePage = (page: ListPage) =>
    remembered(pages, page, () =>
      JsonText.membersOf({
        resources: page.descriptors,
        ...(page.nextCursor === undefined ? {} : { nextCursor: page.nextCursor }),
      }),
    )
  const serialiseContents = (contents: readonly Content[]) =>
    remembered(reads, contents, () => new JsonText(contentsParts(contents)))

  return {
    async list(params, reader) {
      return serialisePage(await registry.page(cursorOf(params), reader))
    },
    listTemplates(params) {
      // All templates fit one page, so no cursor was ever handed out for them.
      if (cursorOf(params) !== undefined) throw new ResourceUriInvalid('unknown cursor')
      return JsonText.membersOf({ resourceTemplates: registry.templates() })
    },
    read(params, reader, isBatched = false) {
      const relayed = registry.relay(params.uri, reader)
      if (relayed !== null) return relayed.then(contents => relayedText(contents, isBatched))
      const contents = registry.read(params.uri, reader)
      return contents instanceof Promise
        ? contents.then(serialiseContents)
        : serialiseContents(contents)
    },
    async complete(params) {
      const { ref, argument } = params
      if (!isJsonObject(ref) || ref.type !== 'ref/resource' || typeof ref.uri !== 'string') {
        throw new ResourceUriInvalid('"ref" must be {"type":"ref/resource","uri":…}')
      }
      if (
        !isJsonObject(argument) ||
        typeof argument.name !== 'string' ||
        typeof argument.value !== 'string'
      ) {
        throw new ResourceUriInvalid('"argument" must be {"name":…,"value":…}, both strings')
      }
      const { name, value } = argument
      const completion = await registry.complete(ref.uri, name, value, resolvedOf(params.context))
      return JsonText.membersOf({ completion })
    },
  }
}

function relayedText(contents: RelayedContents, isBatched: boolean): JsonText {
  if (typeof contents === 'string') return new JsonText([`"contents":${contents}`])
  // One that breaks off would break the other answers, too.
  if (isBatched) {
    contents.discard()
    throw new ServiceError('resource_failed', 'too large for a batch: read it alone')
  }
  return new JsonText(['"contents":', contents])
}

function remembered<Key extends object>(
  cache: WeakMap<Key, JsonText>,
  key: Key,
  serialise: () => JsonText,
): JsonText {
  const known = cache.get(key)
  if (known !== undefined) return known
  const text = serialise()
  if (Object.isFrozen(key)) cache.set(key, text)
  return text
}

function cursorOf(params: JsonObject): string | undefined {
  const { cursor } = params
  if (cursor === undefined || typeof cursor === 'string') return cursor
  throw new ResourceUriInvalid('"cursor" must be a string')
}

/** The values chosen for other variables; clients send them from revision 2025-06-18 on. */
function resolvedOf(context: unknown): ReadonlyMap<string, string> {
  if (context === undefined || context === null) return new Map()
  const values = isJsonObject(context) ? (context.arguments ?? {}) : null
  if (!isJsonObject(values)) throw badContext()
  return new Map(
    Object.entries(values).map(([name, value]) => {
      if (typeof value !== 'string') throw badContext()
      return [name, value]
    }),
  )
}

function badContext(): ResourceUriInvalid {
  return new ResourceUriInvalid('"context" must be {"arguments":{…}}, its values strings')
}

function contentsParts(contents: readonly Content[]): JsonPart[] {
  const parts: JsonPart[] = []
  let text = '"contents":['
  contents.forEach((content, index) => {
    if (index > 0) text += ','
    if ('text' in content) {
      text += JSON.stringify(content)
      return
    }
    const { blob, ...rest } = content
    // The envelope members come first; the body, which needs no escaping, is spliced in last.
    parts.push(`${text}${JSON.stringify(rest).slice(0, -1)},"blob":"`, blobPart(blob))
    text = '"}'
  })
  parts.push(`${text}]`)
  return parts
}

export function blobPart(blob: BlobContent['blob']): JsonPart {
  if (typeof blob === 'string') return blob
  if (blob instanceof Uint8Array) {
    return asBuffer(blob).toString('base64')
  }
  return 'base64' in blob ? blob.base64 : blob
}
