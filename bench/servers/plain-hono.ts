/** Hono on @hono/node-server as its documentation writes it: c.req.json(), c.json(), streamSSE. */
import { randomUUID } from 'node:crypto'
import { serve } from '@hono/node-server'
import { Hono, type Context } from 'hono'
import { streamSSE, type SSEStreamingApi } from 'hono/streaming'
import { sceneUri } from '../fixture.ts'
import {
  announce,
  initializeResult,
  type Message,
  resultOf,
  type Session,
  updateText,
} from './protocol.ts'

const sessions = new Map<string, Session<SSEStreamingApi>>()
const app = new Hono()

app.post('/mcp', async c => {
  const message = await c.req.json<Message>()
  if (message.method === 'initialize') {
    const id = randomUUID()
    sessions.set(id, { subscribed: new Set() })
    c.header('Mcp-Session-Id', id)
    return c.json({ jsonrpc: '2.0', id: message.id, result: initializeResult })
  }
  const session = find(c)
  if (session === undefined) return c.notFound()
  if (message.id === undefined) return c.body(null, 202)
  const uri = message.params?.uri ?? ''
  if (message.method === 'resources/subscribe') session.subscribed.add(uri)
  return c.json({ jsonrpc: '2.0', id: message.id, result: resultOf(message.method, uri) })
})

app.get('/mcp', c => {
  const session = find(c)
  if (session === undefined) return c.notFound()
  return streamSSE(c, async stream => {
    session.stream = stream
    await stream.write(': open\n\n')
    await new Promise<void>(resolve => stream.onAbort(resolve))
    delete session.stream
  })
})

app.post('/host/v1/scene', async c => {
  await c.req.json()
  const event = { event: 'message', data: updateText }
  for (const { subscribed, stream } of sessions.values()) {
    if (subscribed.has(sceneUri)) void stream?.writeSSE(event)
  }
  return c.json({ ok: true })
})

function find(c: Context): Session<SSEStreamingApi> | undefined {
  return sessions.get(c.req.header('Mcp-Session-Id') ?? '')
}

serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, announce)
