import { createProgress, mayShowProgress } from '../../lib/cli/progress.ts'
import { processOutput, warningsTo } from '../../lib/cli/output.ts'
import { checkLimits, resolveLimits } from '../../lib/config/limits.ts'
import { documentsPath, selectStateDirectory } from '../../lib/config/paths.ts'
import { counted, sizeText } from '../../lib/util/amounts.ts'
import { ServiceError, usage } from '../../lib/util/errors.ts'
import { monotonicClock } from '../../lib/util/time.ts'
import { parseBucketUrl } from '../../server/artefacts/bucket/settings.ts'
import { databaseVariable } from '../../server/database/settings.ts'
import { readDatabase } from '../database-flag.ts'
import { readLimitFlags } from '../limit-flag.ts'
import { readRegistryDir } from '../server-settings.ts'

interface MigrateFlags {
  readonly to?: string
  readonly from?: string
  readonly database?: string
  readonly 'registry-dir'?: string
  readonly limit?: string[]
  readonly json: boolean
  readonly quiet: boolean
}

const limitSets = [
  { names: ['artefactTtlMs', 'maxArtefacts', 'maxArtefactTotalBytes'], check: checkLimits },
]

/** Copies artefacts to a bucket, and notes and checkpoints to its database, or back. */
export async function runMigrate(flags: MigrateFlags, env: NodeJS.ProcessEnv): Promise<void> {
  const output = processOutput(flags)
  const { to, bucket } = readEnds(flags, env)
  const database = readDatabase(flags.database, env)
  if (database === undefined) {
    const hint = `give its address in ${databaseVariable} or --database`
    throw usage('no database is named; it lists what is in the bucket', hint)
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
    documentsDir: documentsPath(env),
    where: { bucket, database },
    limits: resolveLimits(readLimitFlags(flags.limit ?? [], limitSets)),
    log: warningsTo(output),
    begun: bytes => progress.begin(0, bytes),
    copied: bytes => progress.moved(bytes),
    damaged: what => output.warn(`${what} is damaged and was not copied`),
  }).finally(() => progress.end())
  await output.result('', done)
  const { documents } = done
  const artefacts = counted(done.artefacts, 'artefact')
  const notes = counted(documents.notes, 'note')
  const checkpoints = counted(documents.checkpoints, 'checkpoint')
  for (const [what, { from, to: target, bytes }] of [
    [artefacts, done],
    [`${notes} and ${checkpoints}`, documents],
  ] as const) {
    output.note(`${target} has ${what} (${sizeText(bytes)}) of ${from}; every copy was compared`)
  }
  const copied = `${counted(done.copied, 'artefact')}, ${documents.copied} notes and checkpoints`
  output.note(`copied in this run: ${copied}; the source is unchanged`)
  if (documents.others > 0) {
    const others = counted(documents.others, 'document')
    output.note(`left out: ${others} without a path, of other machines or accounts`)
  }
  if (done.damaged + documents.damaged === 0) return
  const code = done.damaged > 0 ? 'artefact_corrupt' : 'storage_failed'
  const damaged = `${counted(done.damaged, 'artefact')}, ${documents.damaged} notes and checkpoints`
  throw new ServiceError(code, `damaged: ${damaged}`, { hint: 'all others were copied' })
}

/** Reads `--to` or `--from`, of which exactly one must be given. */
function readEnds({ to, from }: MigrateFlags, env: NodeJS.ProcessEnv) {
  if (to !== undefined && from !== undefined) {
    throw usage('--to and --from exclude each other', 'the other end is always the files')
  }
  if (to !== undefined) return { to: 'bucket', bucket: parseBucketUrl(to, '--to', env) } as const
  if (from !== undefined) {
    return { to: 'files', bucket: parseBucketUrl(from, '--from', env) } as const
  }
  throw usage(
    'no bucket is named: give --to to copy from files to a bucket, or --from to copy back',
    'for example: service-cli artefacts migrate --to s3://renders/service-cli',
  )
}
