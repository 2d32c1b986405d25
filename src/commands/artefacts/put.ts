import { BaseCommand } from '../../lib/cli/base-command.ts'
export default class Artefactsput extends BaseCommand {
  override async run(): Promise<void> {}
}
