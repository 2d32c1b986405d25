import type { Logger } from '../../lib/util/logger.ts'
import { ServiceError } from '../../lib/util/errors.ts'
import { type MaybePromise, recovered } from './maybe-promise.ts'
import type {
  CompletionContext,
  CompletionValues,
  Content,
  DescriptorPage,
  PagedProducer,
  Template,
} from './producer.ts'
import { ownReadError } from './producer-failure.ts'

const emptyPage: DescriptorPage = Object.freeze({ descriptors: Object.freeze([]) })

/** The artefacts as the registry uses them: a failing store never costs the other resources. */
export class ArtefactSource {
  readonly #producer: PagedProducer
  readonly #log: Logger

  constructor(producer: PagedProducer, log: Logger) {
    this.#producer = producer
    this.#log = log
  }

  /** Rejects only for a position that is none. */
  page(after: string | undefined, limit: number): MaybePromise<DescriptorPage> {
    return recovered(
      () => this.#producer.page(after, limit),
      error => {
        if (error instanceof ServiceError && error.code === 'resource_uri_invalid') throw error
        this.#log.error({ err: error }, 'artefacts cannot be listed')
        return emptyPage
      },
    )
  }

  read(uri: string): MaybePromise<readonly Content[]> {
    return recovered(
      () => this.#producer.read(uri),
      error => {
        throw ownReadError(error, 'artefact', uri, this.#log)
      },
    )
  }

  templates(): readonly Template[] {
    return this.#producer.templates?.() ?? []
  }

  async complete(
    variable: string,
    prefix: string,
    context: CompletionContext,
  ): Promise<CompletionValues> {
    return (await this.#producer.complete?.(variable, prefix, context)) ?? []
  }
}
