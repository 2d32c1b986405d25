import { expect } from 'chai'
import { ServiceError } from '../../../../src/lib/util/errors.ts'
import { PutOptionInvalid } from '../../../../src/server/artefacts/put-options.ts'
import type { ArtefactStore } from '../../../../src/server/artefacts/store.ts'
import { ArtefactIntake } from '../../../../src/server/host/link/artefact-intake.ts'
import { LinkRefusal } from '../../../../src/server/host/link/failures.ts'
import { sha256 } from '../../artefacts/support.ts'
import { MemoryArtefacts } from '../../../server/host/memory-sink.ts'

const bytes = Buffer.from('abcd')
const hex = sha256(bytes)
const stored = { uri: `artefact://sha256/${hex}`, sha256: hex, existed: false }

type Store = Pick<ArtefactStore, 'put'> | null

describe('ArtefactIntake', () => {
  let store: MemoryArtefacts
  beforeEach(() => (store = new MemoryArtefacts()))

  function create(
    artefacts: Store = store,
    limits: { maxArtefactBytes?: number; maxUploads?: number; bodyTimeoutMs?: number } = {},
  ): ArtefactIntake {
    return new ArtefactIntake({
      store: artefacts,
      limits: { maxArtefactBytes: 8, maxUploads: 4, bodyTimeoutMs: 60_000, ...limits },
      pause: () => {},
      resume: () => {},
    })
  }

  function put(intake: ArtefactIntake, id: string, sizeBytes: number, hash?: string) {
    const options = { mime: 'text/plain' }
    return outcomeOf(intake.put({ type: 'artefact.put', id, sizeBytes, sha256: hash, options }))
  }

  async function outcomeOf(answer: Promise<object>): Promise<object | string> {
    try {
      return await answer
    } catch (error) {
      return error instanceof LinkRefusal ? `${error.code}: ${error.message}` : String(error)
    }
  }

  const givenUp = (why: string) => `mismatch: the artefact is given up: ${why}`

  it('stores what comes in binary frames, one artefact after the other', async () => {
    const intake = create()
    const first = put(intake, '1', 4, hex)
    expect(intake.feed(bytes.subarray(0, 1))).to.equal(null)
    expect(intake.feed(bytes.subarray(1))).to.equal(null)
    const second = put(intake, '2', 3)
    expect(intake.feed(bytes.subarray(1))).to.equal(null)
    expect(await first).to.deep.equal(stored)
    expect(await second).to.have.property('sha256', sha256(bytes.subarray(1)))
    expect(store.stored.get(hex)?.options.mime).to.equal('text/plain')
  })

  it('rejects an unannounced frame and one that is too long', async () => {
    const intake = create()
    expect(intake.feed(bytes)).to.equal('a binary frame came without an artefact.put before it')
    void put(intake, '1', 3)
    expect(intake.feed(bytes)).to.equal('an artefact has more bytes than were announced')
  })

  it('needs no frame for an artefact without bytes', async () => {
    const intake = create()
    expect(await put(intake, '1', 0)).to.have.property('sha256', sha256(Buffer.alloc(0)))
    expect(intake.feed(Buffer.alloc(0))).to.contain('without an artefact.put')
  })

  it('answers a mismatch of the hash, and stores nothing', async () => {
    const intake = create()
    const answer = put(intake, '1', 4, '0'.repeat(64))
    intake.feed(bytes)
    expect(await answer).to.equal('mismatch: the bytes have another sha256 than was announced')
    expect(store.stored.size).to.equal(0)
  })

  it('gives up what is aborted, and nothing else', async () => {
    const intake = create()
    const answer = put(intake, '1', 4)
    intake.feed(bytes.subarray(0, 2))
    expect(() => intake.abort('2')).to.throw(LinkRefusal, 'no such artefact')
    expect(intake.abort('1')).to.deep.equal({})
    expect(await answer).to.equal(givenUp('the application gave it up'))
    expect(() => intake.abort('1')).to.throw(LinkRefusal, 'no such artefact')
    expect(store.broken).to.equal(1)
    expect(intake.feed(bytes)).to.contain('without an artefact.put')
  })

  it('does not take back what has all of its bytes', async () => {
    const intake = create()
    const answer = put(intake, '1', 4)
    intake.feed(bytes)
    expect(() => intake.abort('1')).to.throw(LinkRefusal)
    intake.close()
    expect(await answer).to.deep.equal(stored)
  })

  it('passes over the bytes of a put that was no good', () => {
    const intake = create()
    intake.passOver(5)
    expect(intake.feed(Buffer.from('hel'))).to.equal(null)
    expect(intake.feed(Buffer.from('lo'))).to.equal(null)
    expect(intake.feed(Buffer.from('!'))).to.include('without an artefact.put')
  })

  it('gives up when no byte comes, and passes over the rest when it comes after all', async () => {
    const intake = create(store, { bodyTimeoutMs: 20 })
    const answer = put(intake, '1', 4)
    intake.feed(bytes.subarray(0, 1))
    expect(await answer).to.equal('limit: no byte of the artefact came for 20 ms')
    expect(intake.feed(bytes.subarray(1))).to.equal(null)
    expect(intake.feed(bytes)).to.contain('without an artefact.put')
  })

  const failing = (error: unknown): Store => ({ put: () => Promise.reject(error) })
  const refusals: [store: () => Store, size: number, answer: string][] = [
    [() => null, 4, 'unsupported: artefacts are switched off on this server'],
    [() => store, 9, 'limit: the artefact has 9 bytes, at most 8 bytes are taken'],
    [
      () => failing(new PutOptionInvalid('displayName', 'must be short')),
      4,
      'invalid: /display_name must be short',
    ],
    [() => failing(new ServiceError('artefact_too_large', 'too large')), 4, 'limit: too large'],
    [() => failing(new Error('odd')), 4, 'Error: odd'],
  ]
  for (const [storeOf, size, expected] of refusals) {
    it(`answers "${expected}", passes over the bytes and takes the next one`, async () => {
      const intake = create(storeOf())
      const answer = put(intake, '1', size)
      expect(await answer).to.equal(expected)
      expect(intake.feed(Buffer.alloc(size - 1))).to.equal(null)
      expect(intake.feed(Buffer.alloc(1))).to.equal(null)
      expect(intake.feed(Buffer.alloc(1))).to.contain('without an artefact.put')
    })
  }

  it('holds the application up until every artefact has room again', async () => {
    const reads = new Map<string, () => Promise<unknown>>()
    const waiting: Store = {
      put: (source, { mime = '' } = {}) => {
        const pieces = (source as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]()
        reads.set(mime, () => pieces.next())
        return new Promise(() => {})
      },
    }
    const news: string[] = []
    const intake = new ArtefactIntake({
      store: waiting,
      limits: { maxArtefactBytes: 0, maxUploads: 4, bodyTimeoutMs: 60_000 },
      pause: () => void news.push('pause'),
      resume: () => void news.push('resume'),
    })
    const size = 4 * 1024 * 1024
    for (const mime of ['a/a', 'b/b']) {
      // What was read together with the end of the first one is handled, although it pauses.
      void intake.put({
        type: 'artefact.put',
        id: mime,
        sizeBytes: size,
        sha256: undefined,
        options: { mime },
      })
      intake.feed(Buffer.alloc(size / 2))
      intake.feed(Buffer.alloc(size / 2))
    }
    expect(news).to.deep.equal(['pause'])
    for (const mime of ['a/a', 'b/b']) {
      expect(news).to.deep.equal(['pause'])
      await reads.get(mime)?.()
      await reads.get(mime)?.()
    }
    expect(news).to.deep.equal(['pause', 'resume'])
  })

  it('has no more artefacts stored at once than uploads may run', async () => {
    const gate = Promise.withResolvers<void>()
    const slow: Store = {
      put: async (source, options) => {
        await gate.promise
        return store.put(source as AsyncIterable<Uint8Array>, options)
      },
    }
    const intake = create(slow, { maxUploads: 2 })
    const answers = ['1', '2', '3'].map(id => {
      const answer = put(intake, id, 4)
      expect(intake.feed(bytes)).to.equal(null)
      return answer
    })
    expect(await answers[2]).to.equal('limit: 2 artefacts are being stored already')
    gate.resolve()
    for (const answer of answers.slice(0, 2)) expect(await answer).to.have.property('sha256', hex)
    const again = put(intake, '4', 4)
    intake.feed(bytes)
    expect(await again).to.have.property('existed', true)
  })
})
