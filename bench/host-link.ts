import { makeBlob } from './fixture.ts'
import { callBody, callHeaders, type Call, type Transport } from './load/transports.ts'
import { sessionMark, withId } from './load/http-text.ts'
import type { Target } from './targets.ts'

const timeoutMs = 20_000

/** Puts a scene through the host link, as an application does. */
export async function postScene(target: Target, text: string): Promise<void> {
  const place = target.host('/v1/scene', { 'Content-Type': 'application/json' })
  const answer = await fetch(`${target.origin}${place.path}`, {
    method: 'POST',
    headers: place.headers ?? {},
    body: text,
    signal: AbortSignal.timeout(timeoutMs),
  })
  const body = await answer.text()
  if (answer.status !== 200) throw new Error(`scene was answered ${answer.status} ${body}`)
}

/** Stores an artefact of `size` bytes made from `seed`; returns its URI. */
export async function postArtefact(target: Target, seed: number, size?: number): Promise<string> {
  const place = target.host('/v1/artefacts', { 'Content-Type': 'application/octet-stream' })
  const answer = await fetch(`${target.origin}${place.path}`, {
    method: 'POST',
    headers: place.headers ?? {},
    body: makeBlob(seed, size),
    signal: AbortSignal.timeout(timeoutMs),
  })
  const text = await answer.text()
  if (answer.status !== 201) throw new Error(`artefact was answered ${answer.status} ${text}`)
  return (JSON.parse(text) as { uri: string }).uri
}

/** One call outside the load: its result, and how long the answer was. */
export async function askOnce(
  target: Target,
  { transport, session }: { transport: Transport; session: string },
  call: Call,
): Promise<{ result: unknown; bytes: number }> {
  const { method } = call
  const marked = Object.entries({ ...callHeaders(transport, call), ...target.mcp.headers })
  const headers = marked.map(
    ([name, value]) => [name, value.replace(sessionMark, session)] as const,
  )
  const answer = await fetch(`${target.origin}${target.mcp.path}`, {
    method: 'POST',
    headers: Object.fromEntries(headers),
    body: withId(callBody(transport, call), 0),
    signal: AbortSignal.timeout(timeoutMs),
  })
  const text = await answer.text()
  if (answer.status !== 200) throw new Error(`${method} was answered ${answer.status} ${text}`)
  const data = text.startsWith('{') ? text : /^data: (.*)$/m.exec(text)?.[1]
  const message = JSON.parse(data ?? 'null') as { result?: unknown; error?: unknown }
  if (message.result === undefined) {
    throw new Error(`${method} failed: ${JSON.stringify(message.error)}`)
  }
  return { result: message.result, bytes: Buffer.byteLength(text) }
}
