import { Injectable } from '@nestjs/common';

/** Does this node take new work? False until start-up has ended and again from the first sign of shutdown. */
@Injectable()
export class Readiness {
  private open = false;

  get accepting(): boolean {
    return this.open;
  }

  start(): void {
    this.open = true;
  }

  drain(): void {
    this.open = false;
  }
}
