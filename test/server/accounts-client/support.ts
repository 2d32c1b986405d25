import { expect } from 'chai'
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { inspect } from 'node:util'
import { ServiceError } from '../../../src/lib/util/errors.ts'
import { AccountsClient } from '../../../src/lib/accounts/client.ts'
import { requireAccountsUrl } from '../../../src/lib/config/accounts-url.ts'
import { listening } from '../../helpers/listening.ts'

export interface Seen {
  readonly method: string
  readonly path: string
  readonly authorization: string | undefined
  readonly body: any
}

type Handler = (seen: Seen, res: ServerResponse, req: IncomingMessage) => void

/** A real server on a free port that answers as `handle` does. */
export async function startAnswering(
  handle: Handler,
  tls?: { readonly key: string; readonly cert: string },
) {
  const requests: Seen[] = []
  const listener = async (req: IncomingMessage, res: ServerResponse) => {
    let text = ''
    for await (const chunk of req) text += chunk
    const { method = '', url = '', headers } = req
    const body = text === '' ? undefined : JSON.parse(text)
    const seen = { method, path: url, authorization: headers.authorization, body }
    requests.push(seen)
    handle(seen, res, req)
  }
  const server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener)
  const port = await listening(server)
  return { url: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`, requests }
}

export function sendJson(
  res: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  res.writeHead(status, { 'Content-Type': 'application/json', ...headers })
  res.end(JSON.stringify(body))
}

export function clientOf(
  url: string,
  env: NodeJS.ProcessEnv = {},
  timeoutMs?: number,
): AccountsClient {
  return new AccountsClient(requireAccountsUrl(url, 'the test'), env, timeoutMs)
}

/** A token as the specification has it: a JWT that says when it ends. */
export function jwt(expiresAtMs: number, id = 'x'): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const claims = { sub: '1', jti: id, exp: Math.floor(expiresAtMs / 1000) }
  return `${part({ alg: 'ES256' })}.${part(claims)}.c2lnbmF0dXJl`
}

/** Nothing that can be printed of the error has any of the texts. */
export function expectNoLeak(error: unknown, secrets: readonly string[]): ServiceError {
  expect(error).to.be.instanceOf(ServiceError)
  const failure = error as ServiceError
  expect(failure.cause).to.equal(undefined)
  const printed = [
    inspect(failure, { depth: 20, showHidden: true }),
    JSON.stringify(failure),
    JSON.stringify({ ...failure }),
    failure.message,
    failure.hint,
    failure.stack,
  ].join('\n')
  for (const secret of secrets) expect(printed).to.not.include(secret)
  return failure
}

export async function thrownBy(run: () => Promise<unknown>): Promise<unknown> {
  try {
    await run()
  } catch (error) {
    return error
  }
  throw new Error('it did not fail')
}
