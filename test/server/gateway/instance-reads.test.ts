import { expect } from 'chai'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemTimer } from '../../../src/lib/util/time.ts'
import {
  addressBounds,
  InstanceReads,
  type ReadBounds,
} from '../../../src/server/gateway/relay/instance-reads.ts'
import { AddressTransport } from '../../../src/server/gateway/relay/address-transport.ts'
import { Upstream } from '../../../src/server/gateway/relay/upstream.ts'
import type { ServerResponse } from 'node:http'
import type { RelayedContents } from '../../../src/server/resources/producer.ts'
import { until } from '../../helpers/until.ts'
import {
  contentsOf,
  type HeldRead,
  type ScriptedInstance,
  startScriptedInstance,
} from '../../helpers/scripted-instance.ts'
import { defaultBounds } from '../../helpers/bounds.ts'

async function textOf(answer: Promise<RelayedContents>): Promise<string> {
  const contents = await answer
  if (typeof contents === 'string') return JSON.parse(contents)[0].text
  const chunks: Uint8Array[] = []
  const cut = () => expect.fail('the contents are cut')
  for await (const chunk of contents.open(cut)) chunks.push(chunk)
  return JSON.parse(Buffer.concat(chunks).toString())[0].text
}

describe('the reads of one instance', () => {
  let registryDir: string
  let instance: ScriptedInstance
  let upstream: Upstream
  let reads: InstanceReads
  let readsWith: (bounds: ReadBounds, silenceMs: number) => InstanceReads
  /** What the instance has not answered. */
  let held: HeldRead[]
  const silenceMs = 1000

  beforeEach(async () => {
    registryDir = await mkdtemp(join(tmpdir(), 'instance-reads-'))
    instance = await startScriptedInstance(registryDir)
    held = []
    instance.onRead = read => void held.push(read)
    const { instanceId } = instance
    const instancesDir = join(registryDir, 'instances')
    const timer = systemTimer
    const transport = new AddressTransport({
      instanceId,
      locate: () => new URL(instance.url),
      mayUseKey: async () => true,
      instancesDir,
    })
    upstream = new Upstream(instanceId, transport)
    readsWith = (bounds, instanceSilenceMs) => {
      const limits = { ...defaultBounds, instanceSilenceMs }
      return new InstanceReads({ instanceId, upstream, timer, bounds, limits })
    }
    reads = readsWith(addressBounds, silenceMs)
  })
  afterEach(async () => {
    upstream.close()
    await instance.stop()
    await rm(registryDir, { recursive: true, force: true })
  })

  /** One who reads, and may leave. */
  function reader(uri: string) {
    const left = new AbortController()
    const answer = reads.read(uri, `outer:${uri}`, { signal: left.signal })
    answer.catch(() => {})
    return { answer, leave: () => left.abort() }
  }
  const untilHeld = (count: number) =>
    until(() => held.length === count, `${count} requests at the instance`)
  function answerOne(text: string): void {
    const { res, uri, id } = held.shift()!
    res.end(contentsOf(uri, text, id))
  }

  it('are two for 50 readers of one URI: the one under way, and one for all who come', async () => {
    const first = reader('scene://current')
    await untilHeld(1)
    const others = Array.from({ length: 49 }, () => reader('scene://current'))
    answerOne('before')
    expect(await textOf(first.answer)).to.equal('before')
    await untilHeld(1)
    answerOne('after')
    const texts = await Promise.all(others.map(({ answer }) => textOf(answer)))
    expect(new Set(texts)).to.deep.equal(new Set(['after']))
    expect(instance.asked.length).to.equal(2)
  })

  it('go on for those who stay, and end with the last who leaves', async () => {
    const [first, second, third] = [0, 1, 2].map(() => reader('app://a'))
    await untilHeld(1)
    first?.leave()
    await expectRejected(first?.answer)
    second?.leave()
    const [{ res }] = held.splice(0) as [HeldRead]
    await until(() => res.destroyed, 'the end of the request')
    await untilHeld(1)
    answerOne('there')
    expect(await textOf(third!.answer)).to.equal('there')
    expect(instance.asked.length).to.equal(2)
  })

  it('succeed for one who comes after all that waited have left, however many', async () => {
    const first = reader('app://a')
    await untilHeld(1)
    for (let at = 0; at < 300; at++) reader('app://a').leave()
    const late = reader('app://a')
    answerOne('first')
    expect(await textOf(first.answer)).to.equal('first')
    const other = reader('app://b')
    await untilHeld(2)
    answerOne('late')
    answerOne('other')
    expect(await textOf(late.answer)).to.equal('late')
    expect(await textOf(other.answer)).to.equal('other')
    expect(instance.asked.filter(({ method }) => method === 'resources/read')).to.have.length(3)
  })

  it('of large contents are for a reader who has stayed', async () => {
    const first = reader('app://a')
    await untilHeld(1)
    const [left, stays] = [reader('app://a'), reader('app://a')]
    answerOne('first')
    expect(await textOf(first.answer)).to.equal('first')
    await untilHeld(1)
    left.leave()
    const large = 'x'.repeat(1_000_000)
    answerOne(large)
    await expectRejected(left.answer)
    expect(await textOf(stays.answer)).to.equal(large)
    await until(() => instance.open === 0, 'no answer is left')
    expect(instance.asked.filter(({ method }) => method === 'resources/read')).to.have.length(2)
  })

  it('fail when the answer comes so slowly that it has no end', async () => {
    instance.onRead = ({ res }) => {
      res.write('{"jsonrpc":"2.0",')
      const drip = setInterval(() => res.write(' '), silenceMs / 20)
      res.once('close', () => clearInterval(drip))
    }
    const failure = await reader('app://a').answer.catch((error: Error) => error)
    expect(failure).to.have.property('message').that.includes('it stopped answering')
    await until(() => instance.open === 0, 'the request is cancelled')
  })

  it('fail with the status of a refusal that has no end, slow or fast', async () => {
    let written = 0
    const write = (res: ServerResponse, text: string) =>
      void res.write(text, () => res.emit('more', (written += text.length)))
    const bodies = [
      (res: ServerResponse) => void setTimeout(() => write(res, ' '), silenceMs / 20),
      (res: ServerResponse) => write(res, ' '.repeat(10_000)),
    ]
    for (const more of bodies) {
      instance.onRead = ({ res }) => {
        res.writeHead(503).flushHeaders()
        res.on('more', () => res.destroyed || more(res))
        more(res)
      }
      const failure = await reader('app://a').answer.catch((error: Error) => error)
      expect(failure).to.have.property('message').that.includes('HTTP 503')
      await until(() => instance.open === 0, 'the request is cancelled')
    }
    // What the system keeps between the two included.
    expect(written).to.be.below(50_000_000)
  })

  it('of large contents that no reader takes are cancelled', async () => {
    instance.onRead = ({ res, uri, id }) => void res.end(contentsOf(uri, 'x'.repeat(9_000_000), id))
    expect(await reader('app://a').answer).to.be.an('object')
    await until(() => instance.open === 0, 'the request is cancelled')
  })

  it('of large contents that readers leave unread are refused beyond a bound, small ones are not', async () => {
    reads = readsWith({ all: 6, large: 4 }, 600_000)
    instance.onRead = ({ res, uri, id }) => {
      res.write(contentsOf(uri, 'x'.repeat(300_000), id).slice(0, -3))
    }
    const unread = Array.from({ length: 4 }, (_, at) => reader(`artefact://${at}`))
    for (const { answer } of unread) expect(await answer).to.be.an('object')
    const refused = await reader('artefact://more').answer.catch((error: Error) => error.message)
    expect(refused).to.include('4 large reads of the instance are open')
    instance.onRead = ({ res, uri, id }) => void res.end(contentsOf(uri, 'small', id))
    expect(await textOf(reader('scene://current').answer)).to.equal('small')
  })

  it('of contents that are too large to be shared are made once for each reader', async () => {
    const large = 'x'.repeat(1_000_000)
    instance.onRead = ({ res, uri, id }) => void res.end(contentsOf(uri, large, id))
    const readers = Array.from({ length: 5 }, () => reader('app://a'))
    const texts = await Promise.all(readers.map(({ answer }) => textOf(answer)))
    expect(texts.every(text => text === large)).to.equal(true)
  })
})

async function expectRejected(answer: Promise<unknown> | undefined): Promise<void> {
  const outcome = await answer?.then(
    () => 'fulfilled',
    () => 'rejected',
  )
  expect(outcome).to.equal('rejected')
}
