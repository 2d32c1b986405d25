import { LRUCache } from 'lru-cache'
import { Blobs } from './blobs.ts'
import type { ArtefactPage, ArtefactRef, ArtefactStore } from './store.ts'
import { isArtefactHex } from '../../lib/mcp/artefact-uri.ts'
import { builtIn, type SchemeProducer, textContents } from '../resources/scheme-producer.ts'
import { ResourceNotFound, ResourceUriInvalid } from '../resources/errors.ts'
import type {
  BlobContent,
  Content,
  Descriptor,
  DescriptorPage,
  EncodedBlob,
  Template,
} from '../resources/producer.ts'
import { integerParameter, wordParameter } from '../resources/query-parameters.ts'
import type { ResourceUri } from '../resources/resource-uri.ts'

/** A smaller picture of an artefact. */
interface SmallerPicture {
  readonly png: Uint8Array
  readonly width: number
  readonly height: number
}

interface ArtefactProducerOptions {
  store: ArtefactStore
  /** Address of the plain download, or null when there is none. */
  downloadUrl(hex: string): string | null
  /** Makes a PNG file smaller; null: it stays as it is. */
  shrink(file: Uint8Array<ArrayBuffer>, maxWidth: number): Promise<SmallerPicture | null>
}

export const artefactTemplates: readonly Template[] = builtIn([
  {
    uriTemplate: 'artefact://sha256/{hex}',
    name: 'Artefact',
    description: 'A file the application produced, by the SHA-256 of its bytes',
    mimeType: undefined,
  },
  {
    uriTemplate: 'artefact://sha256/{hex}{?as,offset,limit,max_width}',
    name: 'Part of an artefact',
    description:
      'A text file in slices: as=text, offset and limit in bytes. A PNG picture at most ' +
      'max_width pixels wide.',
    mimeType: undefined,
  },
])

const defaultSliceBytes = 64 * 1024
const maxSliceBytes = 1024 * 1024
/** Every character fits, so that each slice goes further. */
const minSliceBytes = 4
const maxPictureWidth = 16_384
/** A larger file is not made smaller. */
const maxPictureBytes = 64 * 1024 * 1024
/** Smaller pictures that are kept: about 300 of those that a list of files shows. */
const keptPictureBytes = 16 * 1024 * 1024
/** A larger one is made again. */
const maxKeptPictureBytes = 256 * 1024

/** Stored artefacts as resources of the scheme `artefact`, newest first. */
export function createArtefactProducer(options: ArtefactProducerOptions): SchemeProducer {
  const { store, downloadUrl } = options
  const blobs = new Blobs(store)
  const pages = new WeakMap<ArtefactPage, DescriptorPage>()
  const answers = new WeakMap<EncodedBlob, { ref: ArtefactRef; contents: readonly Content[] }>()
  const pictures = new LRUCache<string, SmallerPicture, { ref: ArtefactRef; maxWidth: number }>({
    maxSize: keptPictureBytes,
    maxEntrySize: maxKeptPictureBytes,
    sizeCalculation: ({ png }) => png.byteLength,
    fetchMethod: async (_key, _stale, { context: { ref, maxWidth } }) => {
      const file = await blobs.bytes(hexIn(ref), ref, 0, ref.size_bytes)
      return (await options.shrink(new Uint8Array(file), maxWidth)) ?? undefined
    },
  })

  /** The same page of the store gives the identical page of descriptors. */
  async function page(after: string | undefined, limit: number): Promise<DescriptorPage> {
    const stored = await store.page(after, limit)
    const known = pages.get(stored)
    if (known !== undefined) return known
    const descriptors = Object.freeze(
      stored.refs.map(ref => descriptorOf(ref, downloadUrl(hexIn(ref)))),
    )
    const made = Object.freeze({ descriptors, next: stored.next })
    pages.set(stored, made)
    return made
  }

  async function read(asked: ResourceUri): Promise<readonly Content[]> {
    const { text: uri } = asked
    const hex = hexOf(asked)
    const ref = await store.find(hex)
    if (ref === null) throw new ResourceNotFound(uri)
    const part = partOf(asked)
    if (part.text !== undefined) return readText(uri, ref, hex, part.text)
    if (part.maxWidth !== undefined && ref.mime === 'image/png') {
      const smaller = await readSmaller(uri, ref, hex, part.maxWidth)
      if (smaller !== null) return smaller
    }
    const blob = await blobs.load(hex, ref)
    if (!('base64' in blob) || uri !== ref.uri) return [contentOf(uri, ref, blob)]
    // The identical answer for the same bytes; stored again, it is a new one.
    const known = answers.get(blob)
    if (known?.ref === ref) return known.contents
    const contents = Object.freeze([contentOf(uri, ref, blob)])
    answers.set(blob, { ref, contents })
    return contents
  }

  /** What was asked for a part says where the whole is. */
  function contentOf(uri: string, ref: ArtefactRef, blob: BlobContent['blob']): BlobContent {
    const url = uri === ref.uri ? null : downloadUrl(hexIn(ref))
    return Object.freeze({ uri, mimeType: ref.mime, blob, ...metaOf(ref, url) })
  }

  async function readText(uri: string, ref: ArtefactRef, hex: string, { offset, limit }: Slice) {
    const bytes = await blobs.bytes(hex, ref, offset, limit)
    const total = ref.size_bytes
    let start = offset
    if (offset > 0) while (start - offset < 3 && isContinuation(bytes[start - offset])) start++
    const text = decode(bytes.subarray(start - offset), offset + bytes.length < total)
    if (text === null) {
      const message = `as=text needs UTF-8: bytes ${offset} to ${offset + bytes.length} are not`
      throw new ResourceUriInvalid(`${message} (${ref.mime})`)
    }
    const length = Buffer.byteLength(text)
    const end = start + length
    const slice = { offset: start, bytes: length, total, ...(end < total && { next_offset: end }) }
    const meta = { 'service-cli/slice': slice, ...metaOf(ref)._meta }
    return textContents(uri, ref.mime, text, meta)
  }

  async function readSmaller(uri: string, ref: ArtefactRef, hex: string, maxWidth: number) {
    if (ref.size_bytes > maxPictureBytes) return null
    const picture = await pictures.fetch(`${hex} ${maxWidth}`, { context: { ref, maxWidth } })
    if (picture === undefined) return null
    const { png, width, height } = picture
    const content = contentOf(uri, ref, png)
    const _meta = { 'service-cli/picture': { width, height }, ...content._meta }
    return [Object.freeze({ ...content, _meta })]
  }

  async function complete(variable: string, prefix: string): Promise<readonly string[]> {
    if (variable !== 'hex') return []
    const { refs } = await store.page(undefined, Infinity)
    return refs.map(hexIn).filter(hex => hex.startsWith(prefix))
  }

  return {
    page,
    read,
    complete,
    templates: () => artefactTemplates,
    checkParameters: uri => void hexOf(uri),
  }
}

function hexOf({ path }: ResourceUri): string {
  const hex = path.startsWith('sha256/') ? path.slice('sha256/'.length) : ''
  if (isArtefactHex(hex)) return hex
  throw new ResourceUriInvalid(
    'an artefact URI has the form artefact://sha256/<64 lower-case hexadecimal digits>',
  )
}

function hexIn({ digest }: ArtefactRef): string {
  return digest.slice('sha256:'.length)
}

/** Metadata up to this many characters of JSON is part of the listing; all of it comes on read. */
const maxListedMetadataChars = 1024

/** Each fact once: what the members of the protocol say is not repeated. */
function descriptorOf(ref: ArtefactRef, url: string | null): Descriptor {
  const { metadata } = ref
  const hex = hexIn(ref)
  const isLong = JSON.stringify(metadata).length > maxListedMetadataChars
  return Object.freeze({
    uri: ref.uri,
    name: ref.display_name ?? hex,
    title: ref.display_name ?? `Artefact ${hex.slice(0, 12)}`,
    mimeType: ref.mime,
    size: ref.size_bytes,
    annotations: Object.freeze({ lastModified: ref.created_at }),
    ...metaOf({ ...ref, metadata: isLong ? null : metadata }, url),
  })
}

/** Empty when there is nothing to tell. */
function metaOf(ref: ArtefactRef, url: string | null = null): Pick<Content, '_meta'> {
  const { uri, mime, size_bytes, display_name, digest, created_at, ...rest } = ref
  const known = Object.entries({ ...rest, download_url: url }).filter(([, fact]) => fact !== null)
  if (known.length === 0) return {}
  const facts = Object.freeze(Object.fromEntries(known))
  return { _meta: Object.freeze({ 'service-cli/artefact': facts }) }
}

interface Slice {
  /** Bytes. */
  readonly offset: number
  readonly limit: number
}

/** The part of an artefact that the query asks for. Throws `ResourceUriInvalid`. */
function partOf(uri: ResourceUri): { readonly text?: Slice; readonly maxWidth?: number } {
  const offset = integerParameter(uri, 'offset')
  const limit = integerParameter(uri, 'limit', minSliceBytes, maxSliceBytes)
  const maxWidth = integerParameter(uri, 'max_width', 1, maxPictureWidth)
  if (wordParameter(uri, 'as', ['text']) === undefined) {
    if (offset === undefined && limit === undefined)
      return maxWidth === undefined ? {} : { maxWidth }
    throw new ResourceUriInvalid('query parameters "offset" and "limit" need as=text')
  }
  if (maxWidth !== undefined) throw new ResourceUriInvalid('as=text takes no max_width')
  return { text: { offset: offset ?? 0, limit: limit ?? defaultSliceBytes } }
}

/** Null for what is not UTF-8. `isCut`: a character that is not whole at the end is left out. */
function decode(bytes: Buffer, isCut: boolean): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes, {
      stream: isCut,
    })
  } catch {
    return null
  }
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && byte >> 6 === 0b10
}
