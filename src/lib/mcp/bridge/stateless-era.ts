import { type Result, ok } from '../../util/result.ts'
import { Call } from './call.ts'
import type { ClientRequest } from './client-message.ts'
import { type BridgeContext, postHeaders } from './context.ts'
import { ListenStream } from './listen-stream.ts'
import type { OpenRequest } from './open-requests.ts'
import type { Recovery, Restorable } from './recovery.ts'
import { statelessHeaders } from './request-headers.ts'
import type { Target } from './target.ts'
import { serverGone } from './trouble.ts'

/** Requests that say everything about themselves: revision 2026-07-28. */
export class StatelessEra implements Restorable {
  readonly #context: BridgeContext
  readonly #recovery: Recovery
  readonly #streams = new Set<ListenStream>()

  constructor(context: BridgeContext, recovery: Recovery) {
    this.#context = context
    this.#recovery = recovery
  }

  async request(request: ClientRequest, open: OpenRequest): Promise<void> {
    const { bytes: body, method, params } = request
    const repeatable = method !== 'tools/call'
    const { signal } = open
    const call = new Call(this.#context, { body, requests: [open], repeatable, signal })
    const ready = await this.#recovery.ready()
    if (!open.wanted) return
    if (!ready.ok) return call.refuse(serverGone(ready.failure))
    if (method === 'subscriptions/listen') return this.#listen(request, open, ready.value)
    const { generation } = this.#recovery
    const headers = { ...postHeaders, ...statelessHeaders(method, params) }
    const end = await call.run(ready.value, headers)
    if (end.kind === 'broken' && !end.begun) this.#recovery.lost(end.reason, generation)
    else if (end.kind !== 'aborted') this.#recovery.reached(ready.value)
    await call.settle(end, ready.value)
  }

  needed(): boolean {
    return this.#streams.size > 0
  }

  interrupt(): void {
    for (const stream of this.#streams) stream.interrupt()
  }

  async restore(target: Target): Promise<Result<void, string>> {
    const lost = [...this.#streams].filter(stream => stream.isLost)
    const outcomes = await Promise.all(lost.map(stream => stream.start(target)))
    return outcomes.find(outcome => !outcome.ok) ?? ok(undefined)
  }

  /** Resolves when the client has its answer, which is the end of the subscription. */
  #listen(request: ClientRequest, open: OpenRequest, target: Target): Promise<void> {
    return new Promise(resolve => {
      const stream = new ListenStream({
        context: this.#context,
        request,
        open,
        lost: reason => this.#recovery.lost(reason, this.#recovery.generation),
        done: () => {
          this.#streams.delete(stream)
          resolve()
        },
      })
      this.#streams.add(stream)
      void stream.start(target)
    })
  }
}
