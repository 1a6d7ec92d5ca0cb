import type { SmsCode, SmsOutcome, SmsProvider } from './sms.types.js';

/** For development: writes the message to standard output, where the developer reads the code. Never in production. */
export class ConsoleSms implements SmsProvider {
  readonly name = 'console';

  constructor(private readonly write: (line: string) => void = (line) => void process.stdout.write(line)) {}

  send({ phone, code }: SmsCode): Promise<SmsOutcome> {
    this.write(`${JSON.stringify({ sms: 'console', phone, code })}\n`);
    return Promise.resolve('sent');
  }
}
