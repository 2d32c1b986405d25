import type { ArtefactRef, ArtefactStore } from '../artefacts/store.ts'
import {
  BlobCache,
  type CachedBlob,
  createGate,
  readEncoded,
  Scratch,
} from '../artefacts/blob-cache.ts'
import { artefactUri, isArtefactHex, parseArtefactUri } from '../artefacts/uri.ts'
import type { Limits } from '../options.ts'
import { ResourceNotFound, ResourceUriInvalid } from './errors.ts'
import type { Content, Descriptor, DescriptorPage, PagedProducer, Template } from './producer.ts'

export interface ArtefactProducerOptions {
  store: ArtefactStore
  limits: Pick<Limits, 'pageSize' | 'blobCacheBytes' | 'maxCachedBlobBytes'>
  /** Address of the plain download, or null when there is none. */
  downloadUrl(hex: string): string | null
}

const maxCompletions = 100
const keptPages = 8
/** Bodies read into memory at the same time. */
const maxLoads = 4

const templates: readonly Template[] = Object.freeze([
  Object.freeze({
    uriTemplate: 'artefact://sha256/{hex}',
    name: 'artefact',
    title: 'Artefact',
    description: 'A file the application produced, by the SHA-256 of its bytes',
  }),
])

/** Stored artefacts as resources of the scheme `artefact`, newest first. */
export function createArtefactProducer(options: ArtefactProducerOptions): PagedProducer {
  const { store, limits } = options
  const describe = createDescriber(options.downloadUrl)
  const pages = new Map<string, DescriptorPage>()
  const blobs = new BlobCache(limits.blobCacheBytes)
  const inTurn = createGate(maxLoads)
  const scratch = new Scratch()
  const loading = new Map<string, Promise<CachedBlob | null>>()

  async function page(after: string | undefined, limit: number): Promise<DescriptorPage> {
    const { refs, next } = await store.page(after, limit)
    const descriptors = refs.map(describe)
    const key = `${limit} ${after ?? ''}`
    const known = pages.get(key)
    pages.delete(key)
    const isKnown = known !== undefined && known.next === next && isEqual(known, descriptors)
    const fresh = isKnown ? known : freezePage(descriptors, next)
    pages.set(key, fresh)
    for (const oldest of pages.keys()) {
      if (pages.size <= keptPages) break
      pages.delete(oldest)
    }
    return fresh
  }

  async function list(): Promise<readonly Descriptor[]> {
    const first = await page(undefined, limits.pageSize)
    if (first.next === undefined) return first.descriptors
    const all = [...first.descriptors]
    for (let next: string | undefined = first.next; next !== undefined;) {
      const following: DescriptorPage = await page(next, limits.pageSize)
      all.push(...following.descriptors)
      next = following.next
    }
    return all
  }

  async function read(uri: string): Promise<readonly Content[]> {
    const hex = parseArtefactUri(uri)
    if (hex === null) {
      const form = 'artefact://sha256/<64 lower-case hexadecimal digits>'
      throw new ResourceUriInvalid(`an artefact URI has the form ${form}`)
    }
    const ref = await store.find(hex)
    if (ref === null) {
      blobs.delete(hex)
      throw new ResourceNotFound(uri)
    }
    if (ref.size_bytes > limits.maxCachedBlobBytes) return [streamed(store, uri, ref)]
    const blob = await load(hex, ref)
    if (blob === null) throw new ResourceNotFound(uri)
    return uri === ref.uri ? blob.contents : contentsOf(uri, blob)
  }

  /** Reads a body once, however many ask for it at the same time. Null when it went meanwhile. */
  async function load(hex: string, ref: ArtefactRef): Promise<CachedBlob | null> {
    const cached = blobs.get(hex)
    if (cached !== undefined) return withMime(hex, cached, ref.mime)
    let reading = loading.get(hex)
    if (reading === undefined) {
      reading = inTurn(() => readBlob(store, scratch, hex)).finally(() => loading.delete(hex))
      loading.set(hex, reading)
    }
    const blob = await reading
    if (blob === null) return null
    if (blobs.get(hex) === undefined) blobs.set(hex, blob)
    return withMime(hex, blob, ref.mime)
  }

  /** Stored again under another type, the bytes are still the same. */
  function withMime(hex: string, blob: CachedBlob, mime: string): CachedBlob {
    if (blob.mime === mime) return blob
    const renamed = cachedBlob(hex, mime, blob.base64)
    blobs.set(hex, renamed)
    return renamed
  }

  async function complete(variable: string, prefix: string): Promise<readonly string[]> {
    if (variable !== 'hex' || !/^[0-9a-f]{0,64}$/.test(prefix)) return []
    return store.startingWith(prefix, maxCompletions)
  }

  return { scheme: 'artefact', list, page, read, templates: () => templates, complete }
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

function descriptorOf(ref: ArtefactRef, hex: string, url: string | null): Descriptor {
  const { uri, mime, size_bytes, display_name, ...rest } = ref
  return Object.freeze({
    uri,
    name: display_name ?? hex,
    mimeType: mime,
    size: size_bytes,
    _meta: Object.freeze({
      'service-cli/artefact': Object.freeze(url === null ? rest : { ...rest, download_url: url }),
    }),
  })
}

function isEqual(page: DescriptorPage, descriptors: readonly Descriptor[]): boolean {
  const known = page.descriptors
  return known.length === descriptors.length && known.every((each, at) => each === descriptors[at])
}

function freezePage(descriptors: readonly Descriptor[], next: string | undefined): DescriptorPage {
  const frozen = Object.freeze(descriptors)
  return Object.freeze(next === undefined ? { descriptors: frozen } : { descriptors: frozen, next })
}

async function readBlob(
  store: ArtefactStore,
  scratch: Scratch,
  hex: string,
): Promise<CachedBlob | null> {
  const artefact = await store.open(hex)
  if (artefact === null) return null
  try {
    return cachedBlob(hex, artefact.ref.mime, await readEncoded(artefact, scratch))
  } finally {
    await artefact.close()
  }
}

function cachedBlob(hex: string, mime: string, base64: Uint8Array): CachedBlob {
  return { mime, base64, contents: contentsOf(artefactUri(hex), { mime, base64 }) }
}

function contentsOf(uri: string, blob: Pick<CachedBlob, 'mime' | 'base64'>): readonly Content[] {
  const encoded = Object.freeze({ base64: blob.base64 })
  return Object.freeze([Object.freeze({ uri, mimeType: blob.mime, blob: encoded })])
}

function streamed(store: ArtefactStore, uri: string, ref: ArtefactRef): Content {
  const hex = ref.digest.slice('sha256:'.length)
  async function* open(): AsyncGenerator<Uint8Array> {
    const artefact = await store.open(hex)
    if (artefact === null) throw new ResourceNotFound(uri)
    try {
      yield* artefact.verified()
    } finally {
      await artefact.close()
    }
  }
  return { uri, mimeType: ref.mime, blob: { size: ref.size_bytes, open } }
}
