import { type PictureShot, shotSides } from '../../lib/host-link/wire.ts'
import { ResourceNotEnabled, ResourceNotFound, ResourceUriInvalid } from './errors.ts'
import type { Descriptor, Template, EncodedBlob } from './producer.ts'
import { listParameter, integerParameter, wordParameter } from './query-parameters.ts'
import type { ResourceUri } from './resource-uri.ts'
import { type SchemeProducer, builtIn } from './scheme-producer.ts'
import type { JsonObject } from '../../lib/util/json.ts'

/** What a picture may show: the whole window, or the view of the scene alone. */
export type CaptureView = 'window' | 'viewport'

/** A picture that was taken. */
export interface SharedPicture {
  readonly blob: EncodedBlob
  /** What the application needs to draw the same again, where it says so. */
  readonly view?: JsonObject
}

/** Where the picture of the application's window comes from. */
export interface CaptureSource {
  /**
   * Why no picture can be taken, and what would change that; null: a read is expected to give one.
   * Answers from memory.
   */
  readonly unavailable: { readonly message: string; readonly hint: string } | null
  /** Looks for the window again. Never rejects. */
  probe(): Promise<void>
  /** Whether there is also a picture of the view of the scene alone. */
  readonly hasViewport: boolean
  /**
   * A PNG file, at most so wide. Rejects with a `ServiceError` of a `resource_` code, which reaches
   * the reader as it is. `signal`: of the reader; once every one has left, the answer may be anything.
   */
  read(
    maxWidth: number,
    signal?: AbortSignal,
    view?: CaptureView,
    shot?: PictureShot,
  ): Promise<SharedPicture>
  /**
   * Told when `unavailable` becomes null or stops to be, or what it can show changes. Returns
   * how to call it off.
   */
  onChange(listener: () => void): () => void
}

const currentWindowUri = 'capture://current_window'

/** In pixels: the widest picture, a side that models do not scale down, what shows most of a window. */
export const pictureWidths = { most: 8192, model: 1568, usual: 1024 }

const annotations = { audience: ['user', 'assistant'], priority: 0.7 } as const
const mimeType = 'image/png'

const none: readonly never[] = Object.freeze([])

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

/**
 * `capture://current_window` and `capture://viewport`: there only while a picture can be had. No
 * source: the server has no window.
 */
export function captureProducer(source: CaptureSource | undefined): SchemeProducer {
  return {
    list: () => (source?.unavailable === null ? descriptors : none),
    templates: () => [
      ...(source?.unavailable === null ? [windowTemplate] : []),
      ...(source?.hasViewport ? [viewportTemplate] : []),
    ],
    checkParameters: askedOf,
    async read(uri, reader) {
      const isViewport = uri.path === 'viewport'
      if (!isViewport && uri.path !== 'current_window') throw new ResourceNotFound(uri.text)
      // Some applications draw their scene where there is no window.
      const isThere = () => (isViewport ? source?.hasViewport : source?.unavailable === null)
      if (!isThere()) await source?.probe()
      if (source === undefined || !isThere()) {
        const { message, hint } = source?.unavailable ?? {}
        const missing = source === undefined ? noWindow : noViewport
        throw new ResourceNotEnabled(uri.text, hint ? `${message}; ${hint}` : missing)
      }
      const { maxWidth, shot } = askedOf(uri)
      const view = isViewport ? 'viewport' : 'window'
      const picture = await source.read(maxWidth, reader?.signal, view, shot)
      const meta = picture.view && { _meta: { 'service-cli/capture': { view: picture.view } } }
      const content = { uri: uri.text, mimeType, blob: picture.blob, ...meta }
      return Object.freeze([Object.freeze(content)])
    },
  }
}

function askedOf(uri: ResourceUri) {
  const { most } = pictureWidths
  const maxWidth = integerParameter(uri, 'max_width', 1, most) ?? most
  return { maxWidth, shot: uri.path === 'viewport' ? shotOf(uri) : undefined }
}

const noWindow =
  'this server has no window to capture; start it as service-cli serve, without --capture off'
const noViewport = `the application draws no picture of its scene; read ${currentWindowUri} for the whole window`

/** Undefined: the view as it is on the screen. */
function shotOf(uri: ResourceUri): PictureShot | undefined {
  const camera = uri.query.get('camera')
  const of = listParameter(uri, 'of')
  const from = wordParameter(uri, 'view', shotSides)
  if (camera !== undefined && camera !== '') {
    if (of === undefined && from === undefined) return { camera }
    throw new ResourceUriInvalid('query parameter "camera" cannot be combined with "of" or "view"')
  }
  if (of !== undefined) return { of, from: from ?? 'three-quarter' }
  if (from !== undefined) throw new ResourceUriInvalid('query parameter "view" needs "of"')
  return undefined
}
