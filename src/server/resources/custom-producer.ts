import type { ResourceLimits } from './limits.ts'
import type { Logger } from '../../lib/util/logger.ts'
import type {
  CompletionContext,
  CompletionValues,
  Content,
  Descriptor,
  ResourceProducer,
  Template,
} from './producer.ts'
import type { Result } from '../../lib/util/result.ts'
import { EntryReader, parseCompletion, parseContent } from './producer-check.ts'
import { customReadError, producerFailure } from './errors.ts'
import { listedValues } from './completion.ts'
import { type Timer, within } from '../../lib/util/time.ts'
import type { ResourceUri } from './resource-uri.ts'
import type { SchemeProducer } from './scheme-producer.ts'
import { typedContents } from './typed-contents.ts'

/** A custom producer must answer within this time. */
const producerTimeoutMs = 2000

interface CustomProducerContext {
  limits: Pick<ResourceLimits, 'maxPendingReads'>
  log: Logger
  timer: Timer
}

const none: readonly never[] = Object.freeze([])

/**
 * Wraps a producer of the embedding program: when it throws, rejects, never answers or returns
 * invalid values, the caller gets well-formed values or one of our errors, within the time allowed.
 */
export class CustomProducer implements SchemeProducer {
  readonly scheme: string
  readonly #producer: ResourceProducer
  readonly #context: CustomProducerContext
  readonly #entries: EntryReader
  readonly #reported = new Set<string>()
  /** Calls of `list` that ran out of time and are still pending. */
  #lateLists = 0
  #pendingReads = 0
  /** Counted apart: completions must not use up the limit of reads. */
  #pendingCompletions = 0
  /** The list as it was returned, when it promises to stay. */
  #lastRaw: unknown = none
  #lastList: readonly Descriptor[] = none

  constructor(producer: ResourceProducer, context: CustomProducerContext) {
    this.scheme = producer.scheme
    this.#producer = producer
    this.#context = context
    this.#entries = new EntryReader(producer.scheme, 'pass')
  }

  /** Never throws or rejects; a list that fails is empty, an entry of the wrong shape left out. */
  list(): readonly Descriptor[] | Promise<readonly Descriptor[]> {
    // One that hangs costs the readers its time once, not at every listing.
    if (this.#lateLists > 0) return none
    let raw: unknown
    try {
      raw = this.#producer.list()
      if (!isThenable(raw)) return this.#descriptors(raw)
    } catch (error) {
      return this.#lost('list', 'it threw', error)
    }
    let late = false
    const settled = Promise.resolve(raw)
      .then(
        value => this.#descriptors(value),
        error => this.#lost('list', 'it rejected', error),
      )
      .finally(() => {
        if (late) this.#lateLists--
      })
    return this.#within(settled, () => {
      late = true
      this.#lateLists++
      return this.#lost('list', 'it did not answer in time')
    })
  }

  /** Throws or rejects only with a `ServiceError` fit for the reader. */
  read({ text: uri }: ResourceUri): readonly Content[] | Promise<readonly Content[]> {
    if (this.#pendingReads >= this.#context.limits.maxPendingReads) {
      throw this.#late(uri, 'too many reads of the custom producer are pending')
    }
    let raw: unknown
    try {
      raw = this.#producer.read(uri)
      if (!isThenable(raw)) return this.#contents(raw)
    } catch (error) {
      throw this.#failed(error, uri)
    }
    this.#pendingReads++
    const settled = Promise.resolve(raw)
      .finally(() => this.#pendingReads--)
      .then(value => this.#contents(value))
      .catch((error: unknown) => {
        throw this.#failed(error, uri)
      })
    return this.#within(settled, () => {
      throw this.#late(uri, 'custom producer did not answer a read in time')
    })
  }

  /** Never throws. */
  templates(): readonly Template[] {
    try {
      const raw: unknown = this.#producer.templates?.() ?? none
      return this.#wellFormed('templates', raw, item => this.#entries.template(item, ''))
    } catch (error) {
      return this.#lost('templates', 'it threw', error)
    }
  }

  /** Never rejects. */
  async complete(
    variable: string,
    prefix: string,
    context: CompletionContext,
  ): Promise<CompletionValues> {
    try {
      if (this.#producer.complete === undefined) {
        return listedValues(await this.list(), variable, prefix, context)
      }
      if (this.#pendingCompletions >= this.#context.limits.maxPendingReads) {
        return this.#lost('complete', 'too many are pending')
      }
      const raw: unknown = this.#producer.complete(variable, prefix, context)
      const values: unknown = isThenable(raw) ? await this.#pendingCompletion(raw) : raw
      return parseCompletion(values) ?? this.#lost('complete', 'it returned no values')
    } catch (error) {
      return this.#lost('complete', 'it threw', error)
    }
  }

  #pendingCompletion(raw: PromiseLike<unknown>): Promise<unknown> {
    this.#pendingCompletions++
    const settled = Promise.resolve(raw).finally(() => this.#pendingCompletions--)
    return this.#within(settled, () => this.#lost('complete', 'it was late'))
  }

  #descriptors(raw: unknown): readonly Descriptor[] {
    try {
      if (raw === this.#lastRaw) return this.#lastList
      const list = this.#wellFormed('list', raw, item => this.#entries.descriptor(item, ''))
      this.#lastRaw = isFrozenList(raw) ? raw : none
      this.#lastList = list
      return list
    } catch (error) {
      return this.#lost('list', 'it returned something unreadable', error)
    }
  }

  #contents(raw: unknown): readonly Content[] {
    if (!Array.isArray(raw)) throw new TypeError('read must return an array of contents')
    const contents = raw.map(item => {
      const content = parseContent(item)
      if (content === null) throw new TypeError('read returned a content of the wrong shape')
      return content
    })
    // The same frozen array again tells the reader "unchanged", so it is passed on itself.
    const answer = isFrozenList(raw) ? (raw as readonly Content[]) : contents
    return typedContents(answer, uri => this.#lastList.find(each => each.uri === uri)?.mimeType)
  }

  #wellFormed<Item>(
    call: string,
    raw: unknown,
    parse: (item: unknown) => Result<Item, unknown>,
  ): readonly Item[] {
    if (!Array.isArray(raw)) return this.#lost(call, 'it did not return an array')
    const items = raw.map(parse).flatMap(item => (item.ok ? [item.value] : []))
    if (items.length < raw.length) this.#lost(call, 'it returned entries of the wrong shape')
    return Object.freeze(items)
  }

  #within<Value>(promise: Promise<Value>, late: () => Value): Promise<Value> {
    const { timer } = this.#context
    return within(promise, producerTimeoutMs, timer, late)
  }

  /** Logged once for each way of failing: lists come with every client. */
  #lost(call: string, reason: string, error?: unknown): readonly never[] {
    const key = `${call}: ${reason}`
    if (!this.#reported.has(key)) {
      this.#reported.add(key)
      const fields = { scheme: this.scheme, call, reason, err: error }
      this.#context.log.warn(fields, 'custom producer left out')
    }
    return none
  }

  #failed(error: unknown, uri: string): Error {
    return customReadError(error, this.scheme, uri, this.#context.log)
  }

  #late(uri: string, message: string): Error {
    this.#context.log.warn({ scheme: this.scheme, uri }, message)
    return producerFailure(this.scheme, 'producer_timeout')
  }
}

function isFrozenList(value: unknown): boolean {
  return Array.isArray(value) && Object.isFrozen(value) && value.every(Object.isFrozen)
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    typeof value === 'object' &&
    value !== null &&
    'then' in value &&
    typeof value.then === 'function'
  )
}
