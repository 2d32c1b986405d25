import { describeArtefactStore } from './store-suite.ts'
import type { CreateStore } from '../unit/artefacts/support.ts'
import { newPlace, useBucketStores } from './bucket-stores.ts'
import { type Postgres, startPostgres } from './postgres.ts'
import { type Swift, useSwift } from './swift.ts'

describe('artefacts in a bucket', () => {
  let postgres: Postgres
  let swift: Swift
  let bucket: string
  before(async function () {
    postgres = await startPostgres(this)
    swift = await useSwift(this)
    bucket = await swift.bucket()
  })
  after(() => postgres?.remove())

  const open = useBucketStores(() => ({ postgres, swift }))
  const create: CreateStore = async (limits = {}, clock) => {
    const place = await newPlace(postgres, bucket)
    return open(place, { limits, ...(clock && { clock }) })
  }
  describeArtefactStore('a bucket', create)
})
