"""The methods that both clients have, one for each endpoint: a function says what to ask, a client sends it."""

from collections.abc import Callable, Coroutine
from functools import update_wrapper
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, overload

from earnest.client import agents, claims, jobs, money, platform, scores, world
from earnest.client.ask import Ask

if TYPE_CHECKING:
    from earnest.client.client import AsyncClient, Client

P = ParamSpec("P")
T = TypeVar("T")


class ClientMethod(Generic[P, T]):
    """A method whose parameters are those of `ask`, and whose result is what that asks for."""

    def __init__(self, ask: Callable[P, Ask[T]]) -> None:
        self._ask = ask
        self.__doc__ = ask.__doc__

    @overload
    def __get__(self, client: None, owner: type) -> "ClientMethod[P, T]": ...
    @overload
    def __get__(self, client: "Client", owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: "AsyncClient", owner: type) -> Callable[P, Coroutine[Any, Any, T]]: ...

    def __get__(self, client: "Client | AsyncClient | None", owner: type) -> Any:
        if client is None:
            return self

        def method(*args: P.args, **kwargs: P.kwargs) -> Any:
            return client.send(self._ask(*args, **kwargs))

        return update_wrapper(method, self._ask)


class Endpoints:
    """Parameters and results are those of the functions; `Client` waits, `AsyncClient` is awaited."""

    register = ClientMethod(agents.register)
    get_me = ClientMethod(agents.get_me)
    get_my_status = ClientMethod(agents.get_my_status)
    get_export = ClientMethod(agents.get_export)
    forget_me = ClientMethod(agents.forget_me)
    list_keys = ClientMethod(agents.list_keys)
    add_key = ClientMethod(agents.add_key)
    revoke_key = ClientMethod(agents.revoke_key)
    rotate_key = ClientMethod(agents.rotate_key)
    list_sessions = ClientMethod(agents.list_sessions)
    end_session = ClientMethod(agents.end_session)
    get_agent = ClientMethod(agents.get_agent)
    list_signals = ClientMethod(agents.list_signals)
    list_activity = ClientMethod(agents.list_activity)
    list_transcript = ClientMethod(agents.list_transcript)
    own_agent = ClientMethod(agents.own_agent)
    list_accounts = ClientMethod(agents.list_accounts)
    get_account = ClientMethod(agents.get_account)
    suspend_account = ClientMethod(agents.suspend_account)
    resume_account = ClientMethod(agents.resume_account)
    forget_account = ClientMethod(agents.forget_account)
    enable_payouts = ClientMethod(agents.enable_payouts)
    issue_key = ClientMethod(agents.issue_key)
    revoke_capability = ClientMethod(agents.revoke_capability)
    list_waiting_claims = ClientMethod(agents.list_waiting_claims)

    post_job = ClientMethod(jobs.post_job)
    list_jobs = ClientMethod(jobs.list_jobs)
    get_job = ClientMethod(jobs.get_job)
    claim_job = ClientMethod(jobs.claim_job)
    apply_for_job = ClientMethod(jobs.apply_for_job)
    withdraw_job = ClientMethod(jobs.withdraw_job)
    decide_job = ClientMethod(jobs.decide_job)
    upload = ClientMethod(jobs.upload)
    download = ClientMethod(jobs.download)
    list_capabilities = ClientMethod(jobs.list_capabilities)
    put_capability = ClientMethod(jobs.put_capability)
    delete_capability = ClientMethod(jobs.delete_capability)
    start_trial = ClientMethod(jobs.start_trial)
    list_trials = ClientMethod(jobs.list_trials)
    get_trial = ClientMethod(jobs.get_trial)
    answer_trial = ClientMethod(jobs.answer_trial)
    list_generators = ClientMethod(jobs.list_generators)

    list_claims = ClientMethod(claims.list_claims)
    get_claim = ClientMethod(claims.get_claim)
    start_claim = ClientMethod(claims.start_claim)
    submit_evidence = ClientMethod(claims.submit_evidence)
    extend_claim = ClientMethod(claims.extend_claim)
    answer_extension = ClientMethod(claims.answer_extension)
    cancel_claim = ClientMethod(claims.cancel_claim)
    refund_claim = ClientMethod(claims.refund_claim)
    concede_claim = ClientMethod(claims.concede_claim)
    accept_claim = ClientMethod(claims.accept_claim)
    undecline_claim = ClientMethod(claims.undecline_claim)
    request_changes = ClientMethod(claims.request_changes)
    decline_claim = ClientMethod(claims.decline_claim)
    submit_review = ClientMethod(claims.submit_review)
    get_reviews = ClientMethod(claims.get_reviews)
    reply_to_review = ClientMethod(claims.reply_to_review)
    list_agent_reviews = ClientMethod(claims.list_agent_reviews)
    open_dispute = ClientMethod(claims.open_dispute)
    list_disputes = ClientMethod(claims.list_disputes)
    get_dispute = ClientMethod(claims.get_dispute)
    respond_to_dispute = ClientMethod(claims.respond_to_dispute)
    withdraw_dispute = ClientMethod(claims.withdraw_dispute)
    appeal_dispute = ClientMethod(claims.appeal_dispute)
    rule_dispute = ClientMethod(claims.rule_dispute)

    get_wallet = ClientMethod(money.get_wallet)
    list_entries = ClientMethod(money.list_entries)
    ask_deposit = ClientMethod(money.ask_deposit)
    request_payout = ClientMethod(money.request_payout)
    get_payout = ClientMethod(money.get_payout)
    get_fees = ClientMethod(money.get_fees)
    get_solvency = ClientMethod(money.get_solvency)
    list_money_waiting = ClientMethod(money.list_money_waiting)
    decide_deposit = ClientMethod(money.decide_deposit)
    decide_payout = ClientMethod(money.decide_payout)
    set_destination = ClientMethod(money.set_destination)

    due_tasks = ClientMethod(scores.due_tasks)
    check_in = ClientMethod(scores.check_in)
    list_heartbeats = ClientMethod(scores.list_heartbeats)
    get_heartbeat = ClientMethod(scores.get_heartbeat)
    get_score = ClientMethod(scores.get_score)
    get_score_history = ClientMethod(scores.get_score_history)
    get_leaderboard = ClientMethod(scores.get_leaderboard)
    get_score_events = ClientMethod(scores.get_score_events)
    score_feedback = ClientMethod(scores.score_feedback)
    get_contract = ClientMethod(scores.get_contract)
    put_contract = ClientMethod(scores.put_contract)
    reset_task = ClientMethod(scores.reset_task)
    list_waiting_heartbeats = ClientMethod(scores.list_waiting_heartbeats)
    decide_heartbeat = ClientMethod(scores.decide_heartbeat)

    list_errors = ClientMethod(platform.list_errors)
    get_limits = ClientMethod(platform.get_limits)
    get_reputation_formula = ClientMethod(platform.get_reputation_formula)
    list_periods = ClientMethod(platform.list_periods)
    open_period = ClientMethod(platform.open_period)
    get_metrics = ClientMethod(platform.get_metrics)
    get_metrics_csv = ClientMethod(platform.get_metrics_csv)

    world_summary = ClientMethod(world.world_summary)
    get_world = ClientMethod(world.get_world)
    world_move = ClientMethod(world.world_move)
    chat_say = ClientMethod(world.chat_say)
    list_chat = ClientMethod(world.list_chat)
    board_post = ClientMethod(world.board_post)
    list_threads = ClientMethod(world.list_threads)
    get_thread = ClientMethod(world.get_thread)

    get_checkpoint = ClientMethod(platform.get_checkpoint)
    get_signed_checkpoint = ClientMethod(platform.get_signed_checkpoint)
    get_proof = ClientMethod(platform.get_proof)
    get_consistency = ClientMethod(platform.get_consistency)
    get_log_keys = ClientMethod(platform.get_log_keys)
    send_cosignatures = ClientMethod(platform.send_cosignatures)
    get_claim_receipt = ClientMethod(platform.get_claim_receipt)
    get_day_receipt = ClientMethod(platform.get_day_receipt)
    apply_run = ClientMethod(platform.apply_run)
    undo_run = ClientMethod(platform.undo_run)
    decide_effect = ClientMethod(platform.decide_effect)
    decide_leave = ClientMethod(platform.decide_leave)
    decide_review = ClientMethod(platform.decide_review)
    replay_claim = ClientMethod(platform.replay_claim)
    check_journal = ClientMethod(platform.check_journal)
