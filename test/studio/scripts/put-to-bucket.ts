// Stores an artefact whose last bytes never come: prints a line when its first parts are sent.
import { silentLogger } from '../../../src/lib/util/logger.ts'
import { openBucket } from '../../../src/server/artefacts/bucket/bucket.ts'
import { createBucketStore } from '../../../src/server/artefacts/bucket/bucket-store.ts'
import { parseBucketUrl } from '../../../src/server/artefacts/bucket/settings.ts'
import { openDatabase } from '../../../src/server/artefacts/database/pool.ts'
import { parseDatabaseUrl } from '../../../src/server/database/settings.ts'

const [bucketUrl = '', databaseUrl = ''] = process.argv.slice(2)
const bucket = await openBucket({
  settings: parseBucketUrl(bucketUrl, 'the test', process.env),
  waitMs: 5000,
})
const database = await openDatabase({
  settings: parseDatabaseUrl(databaseUrl, 'the test'),
  log: silentLogger,
  waitMs: 5000,
})
const store = await createBucketStore({ bucket, database })

async function* endless() {
  for (let at = 0; at < 30; at++) yield Buffer.alloc(1024 * 1024, at)
  console.log('sent')
  // Keeps the process alive until it is killed.
  await new Promise(resolve => setTimeout(resolve, 600_000))
  yield Buffer.alloc(0)
}
await store.put(endless())
