import type { ArtefactLimits } from './limits.ts'
import type { ArtefactPage, ArtefactRef, ArtefactStore } from './store.ts'
import { isUtf8 } from 'node:buffer'
import { BlobLoader } from './blob-loader.ts'
import { createGate } from './concurrency.ts'
import { KeptPictures, type SmallerPicture } from './kept-pictures.ts'
import { isArtefactHex } from '../../lib/mcp/uris.ts'
import { maxCompletions } from '../resources/completion.ts'
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

interface ArtefactProducerOptions {
  store: ArtefactStore
  limits: Pick<ArtefactLimits, 'pageSize' | 'blobCacheBytes' | 'maxCachedBlobBytes'>
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

/** Stored artefacts as resources of the scheme `artefact`, newest first. */
export function createArtefactProducer(options: ArtefactProducerOptions): SchemeProducer {
  const { store, limits } = options
  const describe = createDescriber(options.downloadUrl)
  const pages = new WeakMap<ArtefactPage, DescriptorPage>()
  const loader = new BlobLoader({ store, limits })
  const answers = new WeakMap<EncodedBlob, { ref: ArtefactRef; contents: readonly BlobContent[] }>()
  /** Each picture takes hundreds of megabytes on its way. */
  const onePicture = createGate(1)
  const keptPictures = new KeptPictures()

  async function page(after: string | undefined, limit: number): Promise<DescriptorPage> {
    return describePage(await store.page(after, limit))
  }

  /** The same page of the store gives the identical page of descriptors. */
  function describePage(stored: ArtefactPage): DescriptorPage {
    const known = pages.get(stored)
    if (known !== undefined) return known
    const made = freezePage(stored.refs.map(describe), stored.next)
    pages.set(stored, made)
    return made
  }

  async function read(asked: ResourceUri): Promise<readonly Content[]> {
    const { text: uri } = asked
    const hex = hexOf(asked)
    const ref = await store.find(hex)
    if (ref === null) {
      loader.forget(hex)
      throw new ResourceNotFound(uri)
    }
    const part = partOf(asked)
    if (part.text !== undefined) return readText(uri, ref, hex, part.text)
    if (part.maxWidth !== undefined && ref.mime === 'image/png') {
      const smaller = await readSmaller(uri, ref, hex, part.maxWidth)
      if (smaller !== null) return smaller
    }
    const blob = await loader.load(hex, ref)
    if (blob === null) throw new ResourceNotFound(uri)
    if (!('base64' in blob) || uri !== ref.uri) return [contentOf(uri, ref, blob)]
    return answerOf(blob, ref)
  }

  /** What was asked for a part says where the whole is. */
  function contentOf(uri: string, ref: ArtefactRef, blob: BlobContent['blob']): BlobContent {
    const hex = ref.digest.slice('sha256:'.length)
    const url = uri === ref.uri ? null : options.downloadUrl(hex)
    return Object.freeze({ uri, mimeType: ref.mime, blob, ...metaOf(ref, url) })
  }

  /** The identical answer for the same bytes; stored again, it is a new one. */
  function answerOf(blob: EncodedBlob, ref: ArtefactRef): readonly Content[] {
    const known = answers.get(blob)
    if (known?.ref === ref) return known.contents
    const contents = Object.freeze([contentOf(ref.uri, ref, blob)])
    answers.set(blob, { ref, contents })
    return contents
  }

  async function readText(uri: string, ref: ArtefactRef, hex: string, { offset, limit }: Slice) {
    const bytes = await loader.bytes(hex, offset, limit)
    if (bytes === null) throw new ResourceNotFound(uri)
    const total = ref.size_bytes
    const whole = wholeCharacters(bytes, offset > 0, offset + bytes.length < total)
    if (!isUtf8(whole)) {
      const message = `as=text needs UTF-8: bytes ${offset} to ${offset + bytes.length} are not`
      throw new ResourceUriInvalid(`${message} (${ref.mime})`)
    }
    const start = offset + (whole.byteOffset - bytes.byteOffset)
    const end = start + whole.length
    const slice = {
      offset: start,
      bytes: whole.length,
      total,
      ...(end < total && { next_offset: end }),
    }
    const meta = { 'service-cli/slice': slice, ...metaOf(ref)._meta }
    return textContents(uri, ref.mime, whole.toString('utf8'), meta)
  }

  async function readSmaller(uri: string, ref: ArtefactRef, hex: string, maxWidth: number) {
    if (ref.size_bytes > maxPictureBytes) return null
    const kept = () => keptPictures.get(hex, maxWidth)
    const picture =
      kept() ??
      (await onePicture(async () => {
        // Readers that waited for the same one.
        const made = kept()
        if (made !== undefined) return made
        const file = await loader.bytes(hex, 0, ref.size_bytes)
        return file && options.shrink(new Uint8Array(file), maxWidth)
      }))
    if (picture === null) return null
    keptPictures.add(hex, maxWidth, picture)
    const { png, width, height } = picture
    const content = contentOf(uri, ref, png)
    const _meta = { 'service-cli/picture': { width, height }, ...content._meta }
    return [Object.freeze({ ...content, _meta })]
  }

  /** How many there are beyond the first hundred is not counted: a store may hold millions. */
  async function complete(variable: string, prefix: string): Promise<readonly string[]> {
    if (variable !== 'hex' || !/^[0-9a-f]{0,64}$/.test(prefix)) return []
    return store.startingWith(prefix, maxCompletions + 1)
  }

  return {
    page,
    read,
    templates: () => artefactTemplates,
    complete,
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

/** Descriptors are made once per reference; the store hands out the same one until it changes. */
function createDescriber(downloadUrl: (hex: string) => string | null) {
  const made = new WeakMap<ArtefactRef, { url: string | null; descriptor: Descriptor }>()
  return (ref: ArtefactRef): Descriptor => {
    const hex = ref.digest.slice('sha256:'.length)
    const url = isArtefactHex(hex) ? downloadUrl(hex) : null
    const known = made.get(ref)
    if (known !== undefined && known.url === url) return known.descriptor
    const descriptor = descriptorOf(ref, hex, url)
    made.set(ref, { url, descriptor })
    return descriptor
  }
}

/** Metadata up to this many characters of JSON is part of the listing; all of it comes on read. */
const maxListedMetadataChars = 1024

/** Each fact once: what the members of the protocol say is not repeated. */
function descriptorOf(ref: ArtefactRef, hex: string, url: string | null): Descriptor {
  const { metadata } = ref
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

function freezePage(descriptors: Descriptor[], next: string | undefined): DescriptorPage {
  const frozen = Object.freeze(descriptors)
  return Object.freeze(next === undefined ? { descriptors: frozen } : { descriptors: frozen, next })
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

/** Without the rest of a character at the start, and without its beginning at the end. */
function wholeCharacters(bytes: Buffer, isCutBefore: boolean, isCutAfter: boolean): Buffer {
  let start = 0
  while (isCutBefore && start < 3 && isContinuation(bytes[start])) start++
  let end = bytes.length
  if (isCutAfter) {
    let lead = end - 1
    while (lead > start && end - lead < 4 && isContinuation(bytes[lead])) lead--
    if (end - lead < charBytes(bytes[lead])) end = lead
  }
  return bytes.subarray(start, end)
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && byte >> 6 === 0b10
}

/** Bytes of the UTF-8 character that begins with this byte. */
function charBytes(lead = 0): number {
  if (lead >> 5 === 0b110) return 2
  if (lead >> 4 === 0b1110) return 3
  return lead >> 3 === 0b11110 ? 4 : 1
}
