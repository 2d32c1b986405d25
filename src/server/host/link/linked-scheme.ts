import { isDeepStrictEqual } from 'node:util'
import { wellFormedJson } from '../../../lib/util/json.ts'
import type {
  CompletionContext,
  Content,
  Descriptor,
  Reader,
  Template,
} from '../../resources/producer.ts'
import type { ResourceUri } from '../../resources/resource-uri.ts'
import type { SchemeProducer } from '../../resources/scheme-producer.ts'
import { listedValues } from '../../resources/completion.ts'
import { typedContents } from '../../resources/typed-contents.ts'
import type { AppQuestions } from './app-requests.ts'
import { hostFailure } from './failures.ts'

/** What a scheme offers, parsed and frozen. */
export interface Offer {
  readonly resources: readonly Descriptor[]
  readonly templates: readonly Template[]
}

/**
 * One scheme of the application as clients see it: the lists are what it said last, a read is a
 * question to it.
 */
export class LinkedScheme implements SchemeProducer {
  readonly scheme: string
  readonly #answers = new WeakMap<readonly Content[], readonly Content[]>()
  #offer: Offer
  /** Null when the application that offered it is not connected. */
  #questions: AppQuestions | null
  #asking = false
  #askAgain = false

  constructor(scheme: string, offer: Offer, questions: AppQuestions) {
    this.scheme = scheme
    this.#offer = offer
    this.#questions = questions
  }

  get isConnected(): boolean {
    return this.#questions !== null
  }

  list(): readonly Descriptor[] {
    return this.#offer.resources
  }

  templates(): readonly Template[] {
    return this.#offer.templates
  }

  async read({ text: uri }: ResourceUri, reader?: Reader): Promise<readonly Content[]> {
    if (this.#questions === null) throw hostFailure('host_disconnected')
    const contents = await this.#questions.read(uri, reader?.signal)
    const known = this.#answers.get(contents)
    if (known !== undefined) return known
    const { resources } = this.#offer
    const typeOf = (of: string) => resources.find(each => each.uri === of)?.mimeType
    // Contents are for the URI that was asked for, however the application spells it.
    const answer = Object.freeze(
      typedContents(contents, typeOf).map((content, at) => {
        const isJson = 'text' in content && content.mimeType?.includes('json')
        const text = isJson ? { text: wellFormedJson(content.text) } : {}
        return Object.freeze({ ...content, ...text, uri: at > 0 ? content.uri : uri })
      }),
    )
    // Readers that share an answer asked for the same URI.
    this.#answers.set(contents, answer)
    return answer
  }

  /** Completes from the list of resources, without a request to the application. */
  complete(variable: string, prefix: string, context: CompletionContext): readonly string[] {
    return listedValues(this.#offer.resources, variable, prefix, context)
  }

  connect(questions: AppQuestions): void {
    this.#questions = questions
  }

  disconnect(): void {
    this.#questions = null
  }

  /** False when it says the same as before: then the arrays stay the identical ones. */
  replace(offer: Offer): boolean {
    if (isDeepStrictEqual(offer, this.#offer)) return false
    this.#offer = offer
    return true
  }

  /**
   * Asks the application for its list. One question at a time; one more when it was told to
   * meanwhile, for the answer on its way may be older than that. Never rejects.
   */
  async refresh(
    take: (resources: unknown) => void,
    failed: (trouble: string) => void,
  ): Promise<void> {
    this.#askAgain = true
    if (this.#asking) return
    this.#asking = true
    while (this.#askAgain && this.#questions !== null) {
      this.#askAgain = false
      const questions = this.#questions
      const answer = await questions.list(this.scheme)
      // What an earlier connection said, or failed to say, is of no interest to this one.
      if (questions !== this.#questions) continue
      if (answer.ok) take(answer.value)
      else failed(answer.failure)
    }
    this.#asking = false
  }
}
