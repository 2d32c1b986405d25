import { type BuiltIn, freezeAll } from './built-in.ts'
import type { CaptureSource, CaptureView } from './capture-source.ts'
import { ResourceNotEnabled, ResourceNotFound, ResourceUriInvalid } from './errors.ts'
import { chain, type MaybePromise } from './maybe-promise.ts'
import type { Content, Descriptor, EncodedBlob, Reader, Template } from './producer.ts'
import { rangeParameter, wordParameter } from './query-parameters.ts'
import type { ResourceUri } from './resource-uri.ts'

const currentWindowUri = 'capture://current_window'

const annotations = { audience: ['user', 'assistant'], priority: 0.7 } as const
const mimeType = 'image/png'
const nothing: readonly never[] = Object.freeze([])

const descriptors: readonly Descriptor[] = freezeAll([
  {
    uri: currentWindowUri,
    name: 'Application window',
    title: 'Application window',
    description:
      'What the window of the application looks like: a picture taken when it is read, never pushed. ' +
      '?max_width=N for one at most N pixels wide',
    mimeType,
    annotations,
  },
])

const templates: readonly Template[] = freezeAll([
  {
    uriTemplate: 'capture://current_window{?max_width}',
    name: 'Application window, as wide as asked for',
    title: 'Application window, as wide as asked for',
    description:
      'The same picture, scaled down to at most `max_width` pixels; 1024 shows most of it',
    mimeType,
    annotations,
  },
])

const viewTemplates: readonly Template[] = freezeAll([
  {
    uriTemplate: 'capture://current_window{?max_width,view}',
    name: 'Application window, or its view of the scene',
    title: 'Application window, or its view of the scene',
    description:
      'The same picture, scaled down to at most `max_width` pixels; `view` viewport: the view of ' +
      'the scene alone, drawn by the application when it is read, without menus and panels',
    mimeType,
    annotations,
  },
])

const views: readonly CaptureView[] = ['window', 'viewport']

/** The bound of a server whose user set no other. */
const usualWidth = 8192

/** Widths worth suggesting: enough for a look first. */
const widths: readonly number[] = [1024, 640, 1600, 2560]

/** `capture://current_window`: there only while a picture can be had. */
export class CaptureProducer implements BuiltIn {
  readonly #source: CaptureSource

  constructor(source: CaptureSource) {
    this.#source = source
  }

  list(): readonly Descriptor[] {
    return this.#source.unavailable === null ? descriptors : nothing
  }

  templates(): readonly Template[] {
    const { unavailable, hasViewport } = this.#source
    if (unavailable !== null) return nothing
    return hasViewport === true ? viewTemplates : templates
  }

  complete(variable: string, prefix: string): readonly string[] {
    const { maxWidth, hasViewport } = this.#source
    if (variable === 'view' && hasViewport === true) {
      return views.filter(view => view.startsWith(prefix))
    }
    if (variable !== 'max_width') return []
    const values = widths.filter(width => width <= maxWidth).map(String)
    return values.filter(text => text.startsWith(prefix))
  }

  /** A picture of the view may be offered later, so `view` only has to be a known word. */
  checkParameters(uri: ResourceUri): void {
    this.#widthOf(uri)
    wordParameter(uri, 'view', views)
  }

  read(uri: ResourceUri, reader?: Reader): MaybePromise<readonly Content[]> {
    if (uri.path !== 'current_window') throw new ResourceNotFound(uri.text)
    const { unavailable } = this.#source
    if (unavailable !== null) {
      const { message, hint } = unavailable
      throw new ResourceNotEnabled(uri.text, `${message}; ${hint}`)
    }
    const maxWidth = this.#widthOf(uri)
    const view = this.#viewOf(uri)
    return chain(this.#source.read(maxWidth, reader, view), picture =>
      contentsOf(uri.text, picture),
    )
  }

  #widthOf(uri: ResourceUri): number {
    const { maxWidth: widest } = this.#source
    // Any usual width may be asked for: a server that allows less makes a smaller picture.
    const asked = rangeParameter(uri, 'max_width', 1, Math.max(widest, usualWidth))
    return Math.min(asked ?? widest, widest)
  }

  #viewOf(uri: ResourceUri): CaptureView {
    const view = wordParameter(uri, 'view', views) ?? 'window'
    if (view === 'window' || this.#source.hasViewport === true) return view
    const message = `query parameter "view" can not be ${view}: the application draws no picture of it`
    throw new ResourceUriInvalid(message, { hint: 'leave it out for the whole window' })
  }
}

function contentsOf(uri: string, blob: EncodedBlob): readonly Content[] {
  return Object.freeze([Object.freeze({ uri, mimeType, blob })])
}
