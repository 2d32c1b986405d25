import { noteAction } from './note-action.ts'

export default noteAction({
  action: 'close',
  summary: 'Close a note',
  description: 'Closes a note without accepting an answer.',
  example: '<%= config.bin %> notes close 3',
  text: 'the reason',
})
