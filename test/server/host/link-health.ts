import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { closeCodes } from '../../../src/lib/host-link/wire.ts'
import { RawSession } from '../../helpers/mcp.ts'
import { LinkClient } from '../../helpers/link.ts'
import type { RunningServe } from '../../helpers/serve-process.ts'
import { until } from '../../helpers/until.ts'

let round = 0

/** Connects as soon as the place is free: the server may not have seen the last one go yet. */
export async function connectWhenFree(
  serve: RunningServe,
  members: Record<string, unknown> = {},
): Promise<LinkClient> {
  const found: LinkClient[] = []
  await until(async () => {
    const client = await LinkClient.connect(serve, members).catch((error: unknown) => {
      if ((error as { code?: number }).code !== closeCodes.hostTaken) throw error
    })
    if (client) found.push(client)
    return found.length > 0
  }, 'the place is free')
  return found[0] as LinkClient
}

/** After a fault: another application and a client do all that they could do before. */
export async function expectHealthy(serve: RunningServe): Promise<void> {
  const number = ++round
  const app = await connectWhenFree(serve, { instance_id: `healthy ${number}` })
  const session = await RawSession.open(serve.url)
  const events = await session.listen()
  await session.call('resources/subscribe', { uri: 'scene://current' })
  await app.done({ type: 'scene.set', scene: { healthy: number } })
  await events.until(() => events.updates.includes('scene://current'), 'the update')
  expect(await session.readJson('scene://current')).to.deep.equal({ healthy: number })

  const uri = `healthy://object-${number}`
  app.answer = ({ uri: asked }) => ({ contents: [{ uri: asked, text: String(number) }] })
  const resources = [{ uri, name: 'healthy' }]
  await app.done({ type: 'producer.register', scheme: 'healthy', resources })
  expect(await session.readJson(uri)).to.equal(number)
  events.close()
  await session.delete()
  expect(await app.bye()).to.include({ code: 1000 })
}

export async function recordOf(serve: RunningServe): Promise<any> {
  const path = join(serve.registryDir, 'instances', `${serve.instanceId}.json`)
  return JSON.parse(await readFile(path, 'utf8'))
}

/** `error.data.reason` of a read, or null when it was answered. */
export async function failureOf(session: RawSession, uri: string): Promise<any> {
  const { error } = await session.call('resources/read', { uri })
  return error === undefined ? null : (error.data?.reason ?? error.code)
}
