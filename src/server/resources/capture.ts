import { type PictureShot, shotSides } from '../../lib/host-link/wire.ts'
import type { CaptureSource } from './capture-source.ts'
import { ResourceNotEnabled, ResourceNotFound, ResourceUriInvalid } from './errors.ts'
import type { Content, Descriptor, Reader, Template } from './producer.ts'
import { listParameter, integerParameter, wordParameter } from './query-parameters.ts'
import type { ResourceUri } from './resource-uri.ts'
import { type SchemeProducer, builtIn } from './scheme-producer.ts'

const currentWindowUri = 'capture://current_window'

const annotations = { audience: ['user', 'assistant'], priority: 0.7 } as const
const mimeType = 'image/png'
const nothing: readonly never[] = Object.freeze([])

const descriptors: readonly Descriptor[] = builtIn([
  {
    uri: currentWindowUri,
    name: 'Application window',
    description:
      'What the window of the application looks like: a picture taken when it is read, never pushed. ' +
      '?max_width=N for one at most N pixels wide',
    mimeType,
    annotations,
  },
])

const windowTemplate: Template = Object.freeze({
  uriTemplate: `${currentWindowUri}{?max_width}`,
  name: 'Application window, as wide as asked for',
  description: 'The same picture, scaled down to at most `max_width` pixels; 1024 shows most of it',
  mimeType,
  annotations,
})

const viewportTemplate: Template = Object.freeze({
  uriTemplate: 'capture://viewport{?camera,of,view,max_width}',
  name: 'The scene from where you say',
  description:
    'A picture of the scene, drawn by the application when it is read; the view of the user does ' +
    'not move. `camera`: through that camera. `of`: ids of objects that fill the picture, seen ' +
    'from `view` front, right, top or three-quarter. Without them: the view on the screen',
  mimeType,
  annotations,
})

/** All that a server may have. */
export const captureTemplates = [windowTemplate, viewportTemplate] as const

const maxShown = 100

/** The bound of a server whose user set no other. */
const usualWidth = 8192

/** Widths worth suggesting: enough for a look first. */
const widths: readonly number[] = [1024, 640, 1600, 2560]

/** `capture://current_window` and `capture://viewport`: there only while a picture can be had. */
export class CaptureProducer implements SchemeProducer {
  readonly #source: CaptureSource

  constructor(source: CaptureSource) {
    this.#source = source
  }

  list(): readonly Descriptor[] {
    return this.#source.unavailable === null ? descriptors : nothing
  }

  templates(): readonly Template[] {
    const { unavailable, hasViewport } = this.#source
    return [
      ...(unavailable === null ? [windowTemplate] : []),
      ...(hasViewport ? [viewportTemplate] : []),
    ]
  }

  complete(variable: string, prefix: string): readonly string[] {
    const known: Record<string, readonly string[]> = {
      view: shotSides,
      max_width: widths.filter(width => width <= this.#source.maxWidth).map(String),
    }
    return (known[variable] ?? []).filter(value => value.startsWith(prefix))
  }

  checkParameters(uri: ResourceUri): void {
    this.#widthOf(uri)
    if (uri.path === 'viewport') shotOf(uri)
  }

  async read(uri: ResourceUri, reader?: Reader): Promise<readonly Content[]> {
    const isViewport = uri.path === 'viewport'
    if (!isViewport && uri.path !== 'current_window') throw new ResourceNotFound(uri.text)
    const { unavailable, hasViewport } = this.#source
    // Some applications draw their scene where there is no window.
    if (isViewport ? !hasViewport : unavailable !== null) {
      const { message, hint } = unavailable ?? noViewport
      throw new ResourceNotEnabled(uri.text, `${message}; ${hint}`)
    }
    const picture = await this.#source.read(
      this.#widthOf(uri),
      reader?.signal,
      isViewport ? 'viewport' : 'window',
      isViewport ? shotOf(uri) : undefined,
    )
    const meta = picture.view && { _meta: { 'service-cli/capture': { view: picture.view } } }
    return Object.freeze([Object.freeze({ uri: uri.text, mimeType, blob: picture.blob, ...meta })])
  }

  #widthOf(uri: ResourceUri): number {
    const { maxWidth: widest } = this.#source
    // Any usual width may be asked for: a server that allows less makes a smaller picture.
    const asked = integerParameter(uri, 'max_width', 1, Math.max(widest, usualWidth))
    return Math.min(asked ?? widest, widest)
  }
}

const noViewport = {
  message: 'the application draws no picture of its scene',
  hint: `read ${currentWindowUri} for the whole window`,
}

/** Undefined: the view as it is on the screen. */
function shotOf(uri: ResourceUri): PictureShot | undefined {
  const camera = uri.query.get('camera')
  const of = listParameter(uri, 'of')
  const from = wordParameter(uri, 'view', shotSides)
  if (camera !== undefined && camera !== '') {
    if (of === undefined && from === undefined) return { camera }
    throw new ResourceUriInvalid('query parameter "camera" cannot be combined with "of" or "view"')
  }
  if (of === undefined) {
    if (from === undefined) return undefined
    throw new ResourceUriInvalid('query parameter "view" needs "of"', {
      hint: 'of=ID,ID names the objects to look at',
    })
  }
  if (of.length > maxShown) {
    throw new ResourceUriInvalid(`query parameter "of" names at most ${maxShown} objects`)
  }
  return { of, from: from ?? 'three-quarter' }
}
