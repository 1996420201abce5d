"""A relying service, as it would call Touchstone: stock stubs, and the few steps that a login or a payment takes."""

import time
import uuid
from concurrent import futures

import grpc
from google.protobuf.timestamp_pb2 import Timestamp

from .phone import BIOMETRY
from .stubs import (
    administration_pb2,
    administration_pb2_grpc,
    bindings_pb2,
    bindings_pb2_grpc,
    evaluation_pb2,
    evaluation_pb2_grpc,
    secrets_pb2,
    secrets_pb2_grpc,
    tokens_pb2,
    tokens_pb2_grpc,
    types_pb2,
)

#: No call may hang a test run; the slowest takes milliseconds.
CALL_SECONDS = 20

COFFEE = types_pb2.Transaction(amount="4.20", currency="EUR", payee="Café Touchstone", reference="order-1")


class Caller:
    """One application on one connection. Every step can be taken alone; what a test does not say is as it should be."""

    def __init__(self, channel, application_id):
        self.application_id = application_id
        self.channel = grpc.intercept_channel(channel, _DefaultTimeout())
        self.bindings = bindings_pb2_grpc.BindingServiceStub(self.channel)
        self.evaluations = evaluation_pb2_grpc.EvaluationServiceStub(self.channel)
        self.tokens = tokens_pb2_grpc.TokenServiceStub(self.channel)
        self.secrets = secrets_pb2_grpc.SecretServiceStub(self.channel)
        self.administration = administration_pb2_grpc.AdministrationServiceStub(self.channel)

    # Binding

    def begin_binding(self, phone, profile_id, *, authenticated_at=None, application_id=None, posture=None):
        primary = primary_login(authenticated_at=authenticated_at)
        return self.bindings.BeginBinding(
            bindings_pb2.BeginBindingRequest(
                application_id=application_id or self.application_id,
                profile_id=profile_id,
                device_id=phone.device_id,
                primary=primary,
                posture=posture or phone.posture(),
            )
        )

    def completion(
        self, phone, begun, *, keys=None, touch_id=None, posture=None, replace_existing=False, application_id=None
    ):
        """The request that ends a binding, to be sent once or more often: by keys, or by a ProfileTouchID."""
        if keys is None:
            keys = phone.hardware_keys(begun.signing_input) if touch_id is None else []
        return bindings_pb2.CompleteBindingRequest(
            application_id=application_id or self.application_id,
            ticket=begun.ticket,
            device_name="Phone",
            keys=keys,
            profile_touch_id=None if touch_id is None else bindings_pb2.ProfileTouchId(value=touch_id),
            posture=posture or phone.posture(),
            replace_existing=replace_existing,
        )

    def bind(self, phone, profile_id=None, *, touch_id=None, replace_existing=False):
        """The whole of it; the phone remembers its binding."""
        begun = self.begin_binding(phone, profile_id or new_profile_id())
        request = self.completion(phone, begun, touch_id=touch_id, replace_existing=replace_existing)
        phone.binding = self.bindings.CompleteBinding(request).binding
        return phone.binding

    def get_binding(self, binding_id):
        return self.bindings.GetBinding(
            bindings_pb2.GetBindingRequest(application_id=self.application_id, binding_id=binding_id)
        ).binding

    def list_bindings(self, profile_id, **options):
        return self.bindings.ListBindings(
            bindings_pb2.ListBindingsRequest(application_id=self.application_id, profile_id=profile_id, **options)
        )

    def revoke(self, binding, reason="lost"):
        return self.bindings.RevokeBinding(
            bindings_pb2.RevokeBindingRequest(
                application_id=self.application_id, binding_id=binding.binding_id, reason=reason
            )
        )

    def accept_domain_state(self, binding, domain_state, *, os_version="17.4", **evidence):
        """By `token` or `primary`."""
        return self.bindings.AcceptDomainState(
            bindings_pb2.AcceptDomainStateRequest(
                application_id=self.application_id,
                binding_id=binding.binding_id,
                domain_state=domain_state,
                os_version=os_version,
                **evidence,
            )
        ).binding

    # Secrets and settings

    def set_secret(self, profile_id, secret, *, confirmation=None, **authority):
        """By `old_secret` or `primary`; by a login of this moment, if neither is given."""
        return self.secrets.SetSecret(self.secret_change(profile_id, secret, confirmation=confirmation, **authority))

    def secret_change(self, profile_id, secret, *, confirmation=None, **authority):
        """The request, to be sent once or more often."""
        return secrets_pb2.SetSecretRequest(
            application_id=self.application_id,
            profile_id=profile_id,
            secret=secret,
            confirmation=confirmation or secret,
            **(authority or {"primary": primary_login()}),
        )

    def get_settings(self, profile_id):
        return self.secrets.GetUnlockSettings(
            secrets_pb2.GetUnlockSettingsRequest(application_id=self.application_id, profile_id=profile_id)
        ).settings

    def set_settings(self, profile_id, **settings):
        return self.secrets.SetUnlockSettings(
            secrets_pb2.SetUnlockSettingsRequest(
                application_id=self.application_id,
                profile_id=profile_id,
                settings=secrets_pb2.UnlockSettings(**settings),
            )
        ).settings

    # Evaluation

    def can_evaluate(self, phone, policy="login", *, profile_id=None, **posture):
        binding_id = phone.binding.binding_id if phone.binding and profile_id is None else ""
        return self.evaluations.CanEvaluatePolicy(
            evaluation_pb2.CanEvaluatePolicyRequest(
                application_id=self.application_id,
                policy=policy,
                binding_id=binding_id,
                profile_id=profile_id,
                posture=phone.posture(**posture),
            )
        )

    def begin(self, phone, policy="login", **options):
        return self.evaluations.BeginEvaluation(self.beginning(phone, policy, **options))

    def beginning(
        self,
        phone,
        policy="login",
        *,
        binding_id=None,
        profile_id=None,
        cancel_title=None,
        transaction=None,
        posture=None,
    ):
        """The request: for the phone's binding or another one, or for a profile, or (both empty) for nobody."""
        if binding_id is None:
            binding_id = phone.binding.binding_id if profile_id is None else ""
        return evaluation_pb2.BeginEvaluationRequest(
            application_id=self.application_id,
            policy=policy,
            binding_id=binding_id,
            profile_id=profile_id,
            localized_reason="Log in to the acceptance test",
            cancel_title=None if cancel_title is None else types_pb2.Title(text=cancel_title),
            transaction=transaction,
            posture=posture or phone.posture(),
        )

    def attempt(
        self,
        phone,
        opened,
        *,
        key=None,
        secret=None,
        report=None,
        evaluation=None,
        posture=None,
        factor=BIOMETRY,
        **other,
    ):
        """The request for one attempt, right unless said otherwise; to be sent once or more often.

        `secret`: a passcode or a gesture. `other`: `profile_touch_id` or `primary`.
        """
        request = evaluation_pb2.SubmitAttemptRequest(
            application_id=self.application_id,
            evaluation=opened.evaluation if evaluation is None else evaluation,
            posture=posture or phone.posture(),
        )
        if report is not None:
            request.report.la_error = report
        elif secret is not None:
            kind = secret.WhichOneof("kind")
            getattr(request, kind).CopyFrom(getattr(secret, kind))
        elif "profile_touch_id" in other:
            request.profile_touch_id.profile_touch_id = other["profile_touch_id"]
        elif "primary" in other:
            request.primary.CopyFrom(other["primary"])
        else:
            request.key.CopyFrom(key or phone.proof(opened.signing_input, factor))
        return request

    def submit(self, phone, opened, **attempt):
        return self.evaluations.SubmitAttempt(self.attempt(phone, opened, **attempt))

    def submit_wrong(self, phone, opened, **attempt):
        return self.submit(phone, opened, key=phone.wrong_proof(opened.signing_input), **attempt)

    def fail(self, phone, times):
        """So many wrong proofs, each in an evaluation of its own. Returns the last one's answer; five lock the device."""
        for _ in range(times):
            answer = self.submit_wrong(phone, self.begin(phone))
        return answer

    def login(self, phone, policy="login"):
        return self.submit(phone, self.begin(phone, policy))

    def pay(self, phone, transaction=COFFEE):
        return self.submit(phone, self.begin(phone, "payment", transaction=transaction))

    def invalidate(self, opened):
        return self.evaluations.InvalidateEvaluation(
            evaluation_pb2.InvalidateEvaluationRequest(application_id=self.application_id, evaluation=opened.evaluation)
        )

    # Tokens

    def introspect(self, token):
        return self.tokens.IntrospectToken(
            tokens_pb2.IntrospectTokenRequest(application_id=self.application_id, token=token)
        )

    def consumption(self, token, transaction=COFFEE):
        return tokens_pb2.ConsumeTokenRequest(application_id=self.application_id, token=token, transaction=transaction)

    def consume(self, token, transaction=COFFEE):
        return self.tokens.ConsumeToken(self.consumption(token, transaction))

    def revoke_token(self, token):
        return self.tokens.RevokeToken(tokens_pb2.RevokeTokenRequest(application_id=self.application_id, token=token))

    # Administration

    def get_profile(self, profile_id):
        return self.administration.GetProfile(
            administration_pb2.GetProfileRequest(application_id=self.application_id, profile_id=profile_id)
        )

    def unlock_device(self, device_id, reason="support"):
        return self.administration.UnlockDevice(
            administration_pb2.UnlockDeviceRequest(
                application_id=self.application_id, device_id=device_id, reason=reason
            )
        )

    def unlock_secret(self, profile_id, kind, reason="support"):
        return self.administration.UnlockSecret(
            administration_pb2.UnlockSecretRequest(
                application_id=self.application_id, profile_id=profile_id, kind=kind, reason=reason
            )
        )

    def erase_profile(self, profile_id, reason="ticket 4711"):
        return self.administration.EraseProfile(
            administration_pb2.EraseProfileRequest(
                application_id=self.application_id, profile_id=profile_id, reason=reason
            )
        )

    def explain(self, beginning, at=None):
        """What is said of a request to begin."""
        return self.administration.ExplainEvaluation(
            administration_pb2.ExplainEvaluationRequest(begin=beginning, at=at)
        )

    # Audit

    def events(self):
        """All of this application."""
        return self.list_events(administration_pb2.EventFilter(application_id=self.application_id))

    def next_event(self, kind):
        """The first one of this kind: waits for it, because the log has its line first."""
        request = administration_pb2.WatchEventsRequest(filter=administration_pb2.EventFilter(kinds=[kind]))
        watch = self.administration.WatchEvents(request, timeout=30)
        event = next(answer.event for answer in watch)
        watch.cancel()
        return event

    def list_events(self, event_filter=None, *, after=0, page_size=1000):
        """All that there are, page by page."""
        request = administration_pb2.ListEventsRequest(filter=event_filter, after_sequence=after, page_size=page_size)
        found = []
        while True:
            page = self.administration.ListEvents(request)
            assert len(page.events) <= page_size
            found += page.events
            if not page.next_page_token:
                return found
            request.page_token = page.next_page_token


def new_caller(server, application_id=None):
    """On a connection of its own; an application of its own, unless said otherwise."""
    return Caller(server.channel(), application_id or f"application-{uuid.uuid4()}")


class _DefaultTimeout(grpc.UnaryUnaryClientInterceptor):
    """Gives each call without a deadline one."""

    def intercept_unary_unary(self, continuation, details, request):
        if details.timeout is None:
            details = details._replace(timeout=CALL_SECONDS)
        return continuation(details, request)


def primary_login(method="password", authenticated_at=None):
    """The calling service's own word for the person, of this moment unless said otherwise."""
    return bindings_pb2.PrimaryAuthentication(
        method=method, authenticated_at=authenticated_at or seconds_from_now(0)
    )


def passcode(text):
    return secrets_pb2.Secret(passcode=evaluation_pb2.PasscodeProof(passcode=text))


def gesture(*points):
    return secrets_pb2.Secret(gesture=evaluation_pb2.GestureProof(points=points))


def new_profile_id():
    return f"profile-{uuid.uuid4()}"


def seconds_from_now(seconds):
    moment = time.time() + seconds
    return Timestamp(seconds=int(moment), nanos=int(moment % 1 * 1e9))


def all_at_once(method, requests):
    """Sends all requests before it awaits an answer. Answers, or the errors of those that have none, in order."""
    calls = [method.future(request) for request in requests]
    return [call.exception() or call.result() for call in calls]


def from_threads(count, work):
    """What `work(index)` returns on as many threads."""
    with futures.ThreadPoolExecutor(count) as pool:
        return list(pool.map(work, range(count)))
