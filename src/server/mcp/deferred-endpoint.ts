import type { IncomingMessage, ServerResponse } from 'node:http'
import { ServiceError } from '../../lib/util/errors.ts'
import type { McpEndpoint } from './endpoint.ts'
import type { RequestContext } from './request-context.ts'

/**
 * An endpoint for a port that is bound before there is anything to serve: requests wait until it
 * is opened, and no client gets an error or an empty list.
 */
export class DeferredEndpoint {
  readonly #opened = Promise.withResolvers<McpEndpoint>()
  #real: McpEndpoint | null = null

  constructor() {
    // It may be closed while no request waits.
    this.#opened.promise.catch(() => {})
  }

  get isOpen(): boolean {
    return this.#real !== null
  }

  open(endpoint: McpEndpoint): void {
    this.#real = endpoint
    this.#opened.resolve(endpoint)
  }

  handle(req: IncomingMessage, res: ServerResponse, context: RequestContext): void | Promise<void> {
    if (this.#real !== null) return this.#real.handle(req, res, context)
    return this.#opened.promise.then(real => {
      if (!res.destroyed) return real.handle(req, res, context)
    })
  }

  close(): void {
    this.#opened.reject(new ServiceError('internal', 'the server stopped before it was ready'))
    this.#real?.close()
  }
}
