import type { ArtefactPage, ArtefactRef, ArtefactStore } from './store.ts'
import { BlobLoader } from './blob-loader.ts'
import { isArtefactHex, parseArtefactUri } from '../../lib/mcp/uris.ts'
import type { Limits } from '../../lib/config/limits.ts'
import { maxCompletions } from '../resources/completion.ts'
import { ResourceNotFound, ResourceUriInvalid } from '../resources/errors.ts'
import type {
  BlobContent,
  CompletionValues,
  Content,
  Descriptor,
  DescriptorPage,
  EncodedBlob,
  PagedProducer,
  StreamedBlob,
  Template,
} from '../resources/producer.ts'

interface ArtefactProducerOptions {
  store: ArtefactStore
  limits: Pick<Limits, 'pageSize' | 'blobCacheBytes' | 'maxCachedBlobBytes'>
  /** Address of the plain download, or null when there is none. */
  downloadUrl(hex: string): string | null
}

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
  const pages = new WeakMap<ArtefactPage, DescriptorPage>()
  const loader = new BlobLoader({ store, limits })
  const answers = new WeakMap<EncodedBlob, readonly BlobContent[]>()

  function page(
    after: string | undefined,
    limit: number,
  ): DescriptorPage | Promise<DescriptorPage> {
    const same = store.samePage(after, limit)
    return same === null ? store.page(after, limit).then(describePage) : describePage(same)
  }

  /** The same page of the store gives the identical page of descriptors. */
  function describePage(stored: ArtefactPage): DescriptorPage {
    const known = pages.get(stored)
    if (known !== undefined) return known
    const made = freezePage(stored.refs.map(describe), stored.next)
    pages.set(stored, made)
    return made
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
      loader.forget(hex)
      throw new ResourceNotFound(uri)
    }
    const blob = await loader.load(hex, ref)
    if (blob === null) throw new ResourceNotFound(uri)
    if (!('base64' in blob) || uri !== ref.uri) return [contentOf(uri, ref.mime, blob)]
    return answerOf(blob, ref)
  }

  /** The identical answer for the same bytes; stored again under another type, it is a new one. */
  function answerOf(blob: EncodedBlob, ref: ArtefactRef): readonly Content[] {
    const known = answers.get(blob)
    if (known?.[0]?.mimeType === ref.mime) return known
    const answer = Object.freeze([contentOf(ref.uri, ref.mime, blob)])
    answers.set(blob, answer)
    return answer
  }

  /** How many there are beyond the first hundred is not counted: a store may hold millions. */
  async function complete(variable: string, prefix: string): Promise<CompletionValues> {
    if (variable !== 'hex' || !/^[0-9a-f]{0,64}$/.test(prefix)) return []
    const found = await store.startingWith(prefix, maxCompletions + 1)
    if (found.length <= maxCompletions) return found
    return { values: found.slice(0, maxCompletions), hasMore: true }
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
    title: display_name ?? `Artefact ${hex.slice(0, 12)}`,
    mimeType: mime,
    size: size_bytes,
    annotations: Object.freeze({ lastModified: ref.created_at }),
    _meta: Object.freeze({
      'service-cli/artefact': Object.freeze(url === null ? rest : { ...rest, download_url: url }),
    }),
  })
}

function freezePage(descriptors: readonly Descriptor[], next: string | undefined): DescriptorPage {
  const frozen = Object.freeze(descriptors)
  return Object.freeze(next === undefined ? { descriptors: frozen } : { descriptors: frozen, next })
}

function contentOf(uri: string, mimeType: string, blob: EncodedBlob | StreamedBlob): BlobContent {
  return Object.freeze({ uri, mimeType, blob })
}
