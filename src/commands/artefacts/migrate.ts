import * as Flags from '@oclif/core/flags'
import { BaseCommand, globalFlags } from '../../lib/cli/base-command.ts'
import { runFlags } from '../server-flags.ts'

/** Copies artefacts to a bucket, and notes and checkpoints to its database, or back. */
export default class ArtefactsMigrate extends BaseCommand {
  static override summary = 'Copy artefacts, notes and checkpoints to a bucket, or to files'

  static override description = `Copies every artefact of the state directory to an S3-compatible bucket, or \
back, with its metadata and times. Copies notes and checkpoints of all documents of your account to the \
database, or back. Then it reads each copy and compares it. The source stays as it is. After an \
interruption run the command again: it copies what is missing.

Environment: SERVICE_DATABASE_URL, SERVICE_REGISTRY_DIR, XDG_DATA_HOME, and the AWS_ variables of the \
bucket.`

  static override examples = [
    {
      description: 'to a bucket, whose artefacts SERVICE_DATABASE_URL lists',
      command: '<%= config.bin %> artefacts migrate --to s3://renders/service-cli',
    },
    {
      description: 'back to files',
      command:
        '<%= config.bin %> artefacts migrate --from s3://renders/service-cli --registry-dir /srv/files',
    },
  ]

  static override flags = {
    to: Flags.string({
      description: 'the bucket that artefacts are copied to',
      helpValue: 's3://BUCKET/PREFIX',
    }),
    from: Flags.string({
      description: 'the bucket that artefacts are copied from',
      helpValue: 's3://BUCKET/PREFIX',
    }),
    database: Flags.string({
      description: 'PostgreSQL that lists the artefacts and keeps the notes',
      helpValue: 'URL',
    }),
    'registry-dir': Flags.string({
      description: 'state directory with the files',
      helpValue: 'DIR',
    }),
    limit: runFlags('maxArtefacts=200000').limit,
    ...globalFlags,
  }

  override async run(): Promise<void> {
    const { flags } = await this.parse(ArtefactsMigrate)
    const { runMigrate } = await import('./migrate-run.ts')
    await runMigrate(flags, process.env)
  }
}
