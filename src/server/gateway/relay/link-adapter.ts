import { Unreachable } from '../../../lib/mcp/bridge/bridge-errors.ts'
import type { HttpAnswer } from '../../../lib/mcp/bridge/http-link.ts'
import type { InstanceTransport as OldTransport } from './instance-transport.ts'
import { AnswerTimeout } from './read-link.ts'
import type { InstanceTransport } from './transport.ts'

const url = new URL('http://instance/mcp')

/** The link as the former transport of the relay. */
export function adaptLink(link: InstanceTransport): OldTransport {
  const late = () => new AnswerTimeout('it does not answer')
  const client = {
    async ask({ url: { pathname, search }, method, headers, body, answerMs, signal }: any) {
      const timer = new AbortController()
      const timeout = setTimeout(() => timer.abort(late()), answerMs)
      const all = AbortSignal.any([signal, timer.signal])
      const answer = await link
        .send({ method, path: pathname + search, headers, body }, all)
        .finally(() => clearTimeout(timeout))
      return Object.assign(answer.body, {
        statusCode: answer.status,
        headers: answer.headers,
      }) as unknown as HttpAnswer
    },
    send({ url: { pathname }, headers, body, answerMs, silenceMs }: any, receiver: any) {
      const cutting = new AbortController()
      let timeout = setTimeout(() => cutting.abort(late()), answerMs)
      link.send({ method: 'POST', path: pathname, headers, body }, cutting.signal).then(
        answer => {
          const arm = (): void => {
            clearTimeout(timeout)
            const silent = () => cutting.abort(new Unreachable('it stopped answering'))
            timeout = setTimeout(silent, silenceMs)
          }
          arm()
          receiver.begun(answer.status, answer.headers, {
            pause: () => {
              clearTimeout(timeout)
              answer.body.pause()
            },
            resume: () => {
              arm()
              answer.body.resume()
            },
            cut: (reason: Error) => cutting.abort(reason),
          })
          let failure: Error | null = null
          answer.body.on('data', chunk => receiver.data(chunk))
          answer.body.on('error', error => (failure = error))
          answer.body.once('close', () => {
            clearTimeout(timeout)
            if (cutting.signal.aborted) receiver.failed(cutting.signal.reason)
            else if (failure) receiver.failed(new Unreachable('the link was cut'))
            else receiver.ended()
          })
        },
        error => {
          clearTimeout(timeout)
          receiver.failed(error)
        },
      )
      return (reason: Error) => cutting.abort(reason)
    },
  }
  return {
    url,
    asker: async () => client,
    reads: async () => client,
    refused() {},
    close() {},
  } as never
}
