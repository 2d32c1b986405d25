import { z } from 'zod'
import { ServiceError } from '../../lib/util/errors.ts'
import { firstIssue } from '../../lib/util/first-issue.ts'
import type { Logger } from '../../lib/util/logger.ts'
import { type Timer, within } from '../../lib/util/time.ts'
import { producerFailure, ResourceNotFound, ResourceUriInvalid } from './errors.ts'
import type { Content, Descriptor, ResourceProducer, Template } from './producer.ts'
import { contentForm, descriptorForm, templateForm, typedContents } from './producer-check.ts'
import type { ResourceUri } from './resource-uri.ts'
import type { SchemeProducer } from './scheme-producer.ts'

/** A custom producer must answer within this time. */
const producerTimeoutMs = 2000

const none: readonly never[] = Object.freeze([])

/**
 * Wraps a producer of the embedding program: when it throws, rejects, never answers or returns
 * invalid values, the caller gets well-formed values or one of our errors, within the time allowed.
 */
export class CustomProducer implements SchemeProducer {
  readonly #producer: ResourceProducer
  readonly #log: Logger
  readonly #timer: Timer
  readonly #descriptorForm: z.ZodType<Descriptor>
  readonly #templateForm: z.ZodType<Template>
  /** The array that the producer listed last, when it promises to stay, and its valid entries. */
  #raw: unknown = none
  #list: readonly Descriptor[] = none

  constructor(producer: ResourceProducer, { log, timer }: { log: Logger; timer: Timer }) {
    this.#producer = producer
    this.#log = log
    this.#timer = timer
    this.#descriptorForm = descriptorForm(producer.scheme)
    this.#templateForm = templateForm(producer.scheme)
  }

  /** Never rejects; a list that fails is empty, an invalid entry is left out. */
  async list(): Promise<readonly Descriptor[]> {
    try {
      const raw: unknown = await this.#inTime(this.#producer.list())
      if (raw !== this.#raw) {
        this.#list = this.#valid('list', raw, this.#descriptorForm)
        this.#raw = isFrozenList(raw) ? raw : none
      }
      return this.#list
    } catch (error) {
      return this.#failed('list', error)
    }
  }

  /** Rejects only with a `ServiceError` fit for the reader. */
  async read({ text: uri }: ResourceUri): Promise<readonly Content[]> {
    try {
      const raw: unknown = await this.#inTime(this.#producer.read(uri))
      const contents = z.array(contentForm).parse(raw) as readonly Content[]
      // The same frozen array again tells the reader "unchanged", so it is passed on itself.
      const answer = isFrozenList(raw) ? raw : contents
      return typedContents(answer, of => this.#list.find(each => each.uri === of)?.mimeType)
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'resource_not_found') {
        throw new ResourceNotFound(uri)
      }
      if (error instanceof ResourceUriInvalid) throw new ResourceUriInvalid(error.message)
      this.#failed(`read ${uri}`, error)
      const isLate = error instanceof ProducerTimeout
      throw producerFailure(this.#producer.scheme, isLate ? 'producer_timeout' : 'producer_failed')
    }
  }

  /** Never throws. */
  templates(): readonly Template[] {
    try {
      return this.#valid('templates', this.#producer.templates?.() ?? none, this.#templateForm)
    } catch (error) {
      return this.#failed('templates', error)
    }
  }

  #inTime<Value>(value: Value | Promise<Value>): Promise<Value> {
    return within(Promise.resolve(value), producerTimeoutMs, this.#timer, () => {
      throw new ProducerTimeout(`no answer in ${producerTimeoutMs} ms`)
    })
  }

  #valid<Item>(call: string, raw: unknown, form: z.ZodType<Item>): readonly Item[] {
    if (!Array.isArray(raw)) throw new TypeError('not an array')
    const entries = raw.map(entry => form.safeParse(entry))
    const refused = entries.find(({ success }) => !success)
    if (refused?.error) this.#failed(call, new TypeError(firstIssue(refused.error)))
    return Object.freeze(
      entries.flatMap(({ data }) => (data === undefined ? [] : [Object.freeze(data)])),
    )
  }

  #failed(call: string, error: unknown): readonly never[] {
    this.#log.warn({ scheme: this.#producer.scheme, call, err: error }, 'custom producer failed')
    return none
  }
}

class ProducerTimeout extends Error {}

function isFrozenList(value: unknown): value is readonly Content[] {
  return Array.isArray(value) && Object.isFrozen(value) && value.every(Object.isFrozen)
}
