import { Injectable, type OnModuleInit } from '@nestjs/common';
import { hash, verify, type Options } from '@node-rs/argon2';

/** OWASP's first choice for argon2id; also what the library takes by default, written down so that it stays. */
const OPTIONS: Options = {
  algorithm: 2 /* Algorithm.Argon2id, a const enum */,
  memoryCost: 19_456,
  timeCost: 2,
  parallelism: 1,
};

/** Password hashing by argon2id, in PHC strings. */
@Injectable()
export class Passwords implements OnModuleInit {
  private dummy: Promise<string> | undefined;

  onModuleInit(): void {
    void this.dummyHash();
  }

  hash(password: string): Promise<string> {
    return hash(password, OPTIONS);
  }

  /**
   * Costs the same whether or not there is a hash to compare with, so that the time of a login does not tell who is
   * registered.
   * @param stored null for an unknown account
   */
  async verify(stored: string | null, password: string): Promise<boolean> {
    const matches = await verify(stored ?? (await this.dummyHash()), password);
    return stored !== null && matches;
  }

  private dummyHash(): Promise<string> {
    this.dummy ??= this.hash('nobody has this password');
    return this.dummy;
  }
}
