import type { ResourceMethods } from './resource-methods.ts'

/** What goes on at an endpoint at this moment. */
export interface EndpointActivity {
  /** Reads, listings and completions that are not answered yet. */
  readonly pendingCalls: number
  readonly sessions: number
  /** Streams open for notifications, of any revision. */
  readonly streams: number
  readonly subscriptions: number
  /** Whoever has at least one subscription: sessions, and streams of their own. */
  readonly subscribers: number
}

/** The same methods, counting the calls whose answers take time. */
export class PendingCalls {
  #count = 0

  get count(): number {
    return this.#count
  }

  of(methods: ResourceMethods): ResourceMethods {
    return {
      list: params => this.#counted(methods.list(params)),
      listTemplates: params => this.#counted(methods.listTemplates(params)),
      read: (params, reader) => this.#counted(methods.read(params, reader)),
      complete: params => this.#counted(methods.complete(params)),
    }
  }

  #counted<Answer>(answer: Answer | Promise<Answer>): Answer | Promise<Answer> {
    if (!(answer instanceof Promise)) return answer
    this.#count++
    return answer.finally(() => void this.#count--)
  }
}
