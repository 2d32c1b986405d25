import { createProgress, mayShowProgress } from '../../lib/cli/progress.ts'
import { processOutput, warningsTo } from '../../lib/cli/output.ts'
import { checkLimits, resolveLimits } from '../../lib/config/limits.ts'
import { selectStateDirectory } from '../../lib/config/paths.ts'
import { counted, sizeText } from '../../lib/util/amounts.ts'
import { ServiceError, usage } from '../../lib/util/errors.ts'
import { monotonicClock } from '../../lib/util/time.ts'
import { parseBucketUrl } from '../../server/artefacts/bucket/settings.ts'
import { databaseVariable } from '../../server/database/settings.ts'
import { readDatabase } from '../database-flag.ts'
import { readLimitFlags } from '../limit-flag.ts'
import { readRegistryDir } from '../server-settings.ts'

interface MigrateFlags {
  readonly to?: string | undefined
  readonly from?: string | undefined
  readonly database?: string | undefined
  readonly 'registry-dir'?: string | undefined
  readonly limit?: string[] | undefined
  readonly json: boolean
  readonly quiet: boolean
}

const limitSets = [
  { names: ['artefactTtlMs', 'maxArtefacts', 'maxArtefactTotalBytes'], check: checkLimits },
]

/** Copies the artefacts of the state directory to the bucket, or back. */
export async function runMigrate(flags: MigrateFlags, env: NodeJS.ProcessEnv): Promise<void> {
  const output = processOutput(flags)
  const [to, flag, address = ''] =
    flags.to === undefined
      ? (['files', '--from', flags.from] as const)
      : (['bucket', '--to', flags.to] as const)
  const bucket = parseBucketUrl(address, flag, env)
  const database = readDatabase(flags.database, env)
  if (database === undefined) {
    const hint = `give its address in ${databaseVariable} or --database`
    throw usage('no database is named, which lists what is in the bucket', hint)
  }
  const progress = createProgress({
    label: 'artefacts',
    enabled: mayShowProgress(flags, process.stderr, env),
    stream: process.stderr,
    clock: monotonicClock,
  })
  const { migrateArtefacts } = await import('../../server/artefacts/migrate.ts')
  const done = await migrateArtefacts({
    to,
    registryDir: selectStateDirectory(readRegistryDir(flags, env), env),
    where: { bucket, database },
    limits: resolveLimits(readLimitFlags(flags.limit ?? [], limitSets)),
    log: warningsTo(output),
    begun: bytes => progress.begin(0, bytes),
    copied: bytes => progress.moved(bytes),
    damaged: uri => output.warn(`${uri} is damaged and was not copied`),
  }).finally(() => progress.end())
  await output.result('', done)
  const amount = `${counted(done.artefacts, 'artefact')} (${sizeText(done.bytes)})`
  output.note(`${done.to} has ${amount} of ${done.from}; every copy was compared`)
  output.note(`copied in this run: ${done.copied}; ${done.from} is unchanged`)
  if (done.damaged === 0) return
  throw new ServiceError('artefact_corrupt', `${counted(done.damaged, 'artefact')} damaged`, {
    hint: 'store them again; all others were copied',
  })
}
