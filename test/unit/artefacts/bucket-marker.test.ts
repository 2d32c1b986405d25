import { expect } from 'chai'
import { setTimeout as delay } from 'node:timers/promises'
import type { Bucket } from '../../../src/server/artefacts/bucket/bucket.ts'
import { claimBucket } from '../../../src/server/artefacts/bucket/marker.ts'
import type { Catalog } from '../../../src/server/artefacts/postgres/catalog.ts'

/** A bucket in memory that is quick, and now and then much slower. */
function slowBucket(): Bucket {
  const objects = new Map<string, string>()
  const soon = () => delay(Math.random() < 0.3 ? 10 : 0)
  /** What is asked for happens somewhere between question and answer. */
  const slowly = async <Value>(action: () => Value): Promise<Value> => {
    await soon()
    const value = action()
    await soon()
    return value
  }
  const bucket: Partial<Bucket> = {
    name: 's3://shared/',
    readText: key => slowly(() => objects.get(key) ?? null),
    writeText: (key, text) => slowly(() => void objects.set(key, text)),
    list: start => slowly(() => [...objects.keys()].filter(key => key.startsWith(start))),
    remove: key => slowly(() => void objects.delete(key)),
  }
  return bucket as Bucket
}

const catalogOf = (storeId: string) =>
  ({ identity: async () => ({ storeId, entries: 0, bytes: 0 }) }) as unknown as Catalog

describe('claimBucket', () => {
  it('gives a bucket to one installation of some that claim it at once', async () => {
    const round = async () => {
      const bucket = slowBucket()
      const rivals = ['a', 'b', 'c']
      const outcomes = await Promise.allSettled(
        rivals.map(id => claimBucket(bucket, catalogOf(id))),
      )
      const won = rivals.filter((_, at) => outcomes[at]?.status === 'fulfilled')
      expect(won).to.have.length(1)
      await claimBucket(bucket, catalogOf(won[0] ?? ''))
      expect(await bucket.list('')).to.deep.equal(['service-cli-store'])
    }
    await Promise.all(Array.from({ length: 30 }, round))
  })

  it('lets two servers of one installation begin at once', async () => {
    const bucket = slowBucket()
    await Promise.all([1, 2].map(() => claimBucket(bucket, catalogOf('a'))))
    expect(await bucket.list('')).to.deep.equal(['service-cli-store'])
  })
})
