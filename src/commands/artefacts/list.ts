import { BaseCommand } from '../../lib/cli/base-command.ts'
export default class Artefactslist extends BaseCommand {
  override async run(): Promise<void> {}
}
