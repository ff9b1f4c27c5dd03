//! The application behind a connection. Reports the progress of each request to the connection, and
//! decides what a client with `Expect: 100-continue` gets.
//!
//! actix-http writes `100 Continue` before it calls the application. Here the application is called
//! first, with a body that notes when the application reads it. A reply that comes before that is
//! the only response. Otherwise `100 Continue` is written, and the same call goes on. So every
//! status that is decided by the head alone is sent without an interim response.

use std::cell::{Cell, OnceCell, RefCell};
use std::convert::Infallible;
use std::future::{Ready, poll_fn, ready};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use actix_http::body::{BodySize, BoxBody, MessageBody};
use actix_http::error::PayloadError;
use actix_http::header::CONTENT_LENGTH;
use actix_http::{ConnectionType, HttpMessage as _, Payload, Request, Response};
use actix_service::{Service, ServiceFactory};
use actix_web::Error;
use actix_web::dev::ServiceResponse;
use actix_web::web::Bytes;
use futures_util::Stream;

use super::read_window::{BodyLength, ReadWindow};

/// The answer of the application, and the work on it.
type Answer = Result<Response<TrackedBody>, Error>;
type Work = Pin<Box<dyn Future<Output = Answer>>>;

/// Makes the application of one worker. [`Application`] and [`Expectation`] both call it.
pub struct ApplicationFactory<F: ServiceFactory<Request>> {
    factory: Rc<F>,
    application: Rc<OnceCell<Rc<F::Service>>>,
}

/// Answers requests.
pub struct Application<S>(Rc<S>);

/// Makes the [`Expectation`] of one worker.
pub struct ExpectationFactory<S>(Rc<OnceCell<Rc<S>>>);

/// Answers requests with `Expect: 100-continue` as far as their heads allow.
pub struct Expectation<S>(Rc<OnceCell<Rc<S>>>);

/// A final response to a request whose body was not wanted.
pub struct FinalResponse(Response<BoxBody>);

/// Work on a request whose body is wanted, handed over by its [`Expectation`].
struct BegunRequest {
    work: Work,
    body: Rc<RequestBody>,
}

/// The body of a request.
pub struct RequestBody {
    payload: RefCell<Payload>,
    window: Option<Rc<ReadWindow>>,
    expected: Cell<Expected>,
    is_read: Cell<bool>,
    waiting: RefCell<Option<Waker>>,
}

/// What the client waits for before it sends the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expected {
    /// The client waits for nothing.
    Nothing,
    /// The client waits for `100 Continue`.
    Continue,
    /// The client waits for `100 Continue`, and the application wants the body.
    ContinueNow,
}

/// The body of a request as the application reads it.
struct BodyStream(Rc<RequestBody>);

/// Tells the connection that a request has ended when this is dropped.
struct RequestGuard {
    window: Option<Rc<ReadWindow>>,
    body: Option<Rc<RequestBody>>,
}

/// The body of a response. The request has ended when it is dropped.
pub struct TrackedBody {
    body: BoxBody,
    _request: RequestGuard,
}

impl<F: ServiceFactory<Request>> ApplicationFactory<F> {
    /// Wraps the factory of the application, which is called once for each thread.
    pub fn new(factory: F) -> Self {
        Self {
            factory: Rc::new(factory),
            application: Rc::default(),
        }
    }

    /// The factory of the service for requests with an expectation, which calls the same
    /// application.
    pub fn expectation(&self) -> ExpectationFactory<F::Service> {
        ExpectationFactory(Rc::clone(&self.application))
    }
}

impl<F, B> ServiceFactory<Request> for ApplicationFactory<F>
where
    F: ServiceFactory<Request, Config = (), Response = ServiceResponse<B>, Error = Error> + 'static,
    F::Future: 'static,
    <F::Service as Service<Request>>::Future: 'static,
    B: MessageBody + 'static,
{
    type Response = Response<TrackedBody>;
    type Error = Error;
    type Config = ();
    type Service = Application<F::Service>;
    type InitError = F::InitError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Service, F::InitError>>>>;

    fn new_service(&self, config: ()) -> Self::Future {
        let service = self.factory.new_service(config);
        let shared = Rc::clone(&self.application);
        Box::pin(async move {
            let service = Rc::new(service.await?);
            // The expectation service calls the application through the shared cell.
            Ok(Application(Rc::clone(shared.get_or_init(|| service))))
        })
    }
}

impl<S, B> Service<Request> for Application<S>
where
    S: Service<Request, Response = ServiceResponse<B>, Error = Error>,
    S::Future: 'static,
    B: MessageBody + 'static,
{
    type Response = Response<TrackedBody>;
    type Error = Error;
    type Future = Work;

    fn poll_ready(&self, context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.0.poll_ready(context)
    }

    fn call(&self, request: Request) -> Work {
        // The expectation service has begun the work where the client sent an `Expect` header.
        let begun = request.extensions_mut().remove::<BegunRequest>();
        match begun {
            Some(BegunRequest { work, body }) => {
                body.continue_was_sent();
                work
            }
            None => begin(&*self.0, request, Expected::Nothing).0,
        }
    }
}

impl<S, B> ServiceFactory<Request> for ExpectationFactory<S>
where
    S: Service<Request, Response = ServiceResponse<B>, Error = Error> + 'static,
    S::Future: 'static,
    B: MessageBody + 'static,
{
    type Response = Request;
    type Error = FinalResponse;
    type Config = ();
    type Service = Expectation<S>;
    type InitError = Infallible;
    type Future = Ready<Result<Self::Service, Infallible>>;

    fn new_service(&self, (): ()) -> Self::Future {
        ready(Ok(Expectation(Rc::clone(&self.0))))
    }
}

impl<S, B> Service<Request> for Expectation<S>
where
    S: Service<Request, Response = ServiceResponse<B>, Error = Error>,
    S::Future: 'static,
    B: MessageBody + 'static,
{
    type Response = Request;
    type Error = FinalResponse;
    type Future = Pin<Box<dyn Future<Output = Result<Request, FinalResponse>>>>;

    fn poll_ready(&self, _: &mut Context<'_>) -> Poll<Result<(), FinalResponse>> {
        Poll::Ready(Ok(()))
    }

    fn call(&self, request: Request) -> Self::Future {
        let Some(application) = self.0.get() else {
            // actix-http makes the application before it takes a connection.
            return Box::pin(ready(Ok(request)));
        };
        let (work, body) = begin(&**application, request, Expected::Continue);
        Box::pin(answer_or_want_body(work, body))
    }
}

/// Begins the work on a request. Returns the work, and the body if the request has one.
fn begin<S, B>(
    service: &S,
    mut request: Request,
    expected: Expected,
) -> (Work, Option<Rc<RequestBody>>)
where
    S: Service<Request, Response = ServiceResponse<B>, Error = Error>,
    S::Future: 'static,
    B: MessageBody + 'static,
{
    let window = request.conn_data::<Rc<ReadWindow>>().cloned();
    let body = RequestBody::attach(&mut request, window.clone(), expected);
    if let Some(window) = &window {
        let length = body
            .as_ref()
            .map_or(BodyLength::Bytes(0), |_| body_length(&request));
        window.begin_request(length);
    }
    let guard = RequestGuard {
        window,
        body: body.clone(),
    };
    let answer = service.call(request);
    let work = async move {
        let response = answer.await?.into();
        Ok(guard.track(response))
    };
    (Box::pin(work), body)
}

/// The length of the body of a request that has one.
fn body_length(request: &Request) -> BodyLength {
    let length = request
        .headers()
        .get(CONTENT_LENGTH)
        .and_then(|length| length.to_str().ok()?.trim().parse().ok());
    length.map_or(BodyLength::Chunked, BodyLength::Bytes)
}

/// Works on a request until it is answered or its body is wanted. `Err` is the final response. `Ok`
/// is a placeholder request that carries the begun work to [`Application`].
async fn answer_or_want_body(
    mut work: Work,
    body: Option<Rc<RequestBody>>,
) -> Result<Request, FinalResponse> {
    let answer = poll_fn(|context| match work.as_mut().poll(context) {
        Poll::Ready(answer) => Poll::Ready(Some(answer)),
        Poll::Pending if body.as_ref().is_some_and(|body| body.is_wanted()) => Poll::Ready(None),
        Poll::Pending => Poll::Pending,
    });
    match (answer.await, body) {
        (None, Some(body)) => {
            let request = Request::new();
            request.extensions_mut().insert(BegunRequest { work, body });
            Ok(request)
        }
        (Some(Ok(response)), _) => Err(FinalResponse(
            response.map_body(|_, body| BoxBody::new(body)),
        )),
        (Some(Err(error)), _) => Err(FinalResponse(error.into())),
        // Only a body can be wanted.
        (None, None) => Err(FinalResponse(Response::internal_server_error())),
    }
}

impl RequestBody {
    /// Replaces the payload of a request by a body that notes when it is read. `None` if the
    /// request has no body.
    fn attach(
        request: &mut Request,
        window: Option<Rc<ReadWindow>>,
        expected: Expected,
    ) -> Option<Rc<Self>> {
        let payload = match request.take_payload() {
            Payload::None => return None,
            payload @ (Payload::H1 { .. } | Payload::Stream { .. }) => payload,
        };
        let body = Rc::new(Self {
            payload: RefCell::new(payload),
            window,
            expected: Cell::new(expected),
            is_read: Cell::new(false),
            waiting: RefCell::default(),
        });
        *request.payload() = Payload::Stream {
            payload: Box::pin(BodyStream(Rc::clone(&body))),
        };
        Some(body)
    }

    /// Whether the client must be asked for the body.
    fn is_wanted(&self) -> bool {
        self.expected.get() == Expected::ContinueNow
    }

    /// Notes that the client was asked for the body, and wakes the task that waits for it.
    fn continue_was_sent(&self) {
        self.expected.set(Expected::Nothing);
        if let Some(waker) = self.waiting.take() {
            waker.wake();
        }
    }

    /// The next chunk of the body. Waits first where the client must be asked for the body.
    fn poll_chunk(&self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, PayloadError>>> {
        if self.expected.get() != Expected::Nothing {
            self.expected.set(Expected::ContinueNow);
            self.waiting.replace(Some(context.waker().clone()));
            return Poll::Pending;
        }
        let chunk = Pin::new(&mut *self.payload.borrow_mut()).poll_next(context);
        self.is_read.set(matches!(chunk, Poll::Ready(None)));
        if let Some(window) = &self.window {
            match chunk {
                Poll::Ready(None) => window.end_body(),
                Poll::Ready(Some(_)) => {}
                Poll::Pending => window.want_body(),
            }
        }
        chunk
    }
}

impl Stream for BodyStream {
    type Item = Result<Bytes, PayloadError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_chunk(context)
    }
}

impl RequestGuard {
    /// Whether the body was read to its end. A request without a body counts as read.
    fn is_body_read(&self) -> bool {
        self.body.as_ref().is_none_or(|body| body.is_read.get())
    }

    /// Ties the guard to the response, so that the request ends when the response was sent. A
    /// connection with an unread body is closed after that: whether the client still sends the body
    /// is unknown, and a chunked one that actix-http discards may have no end.
    fn track<B: MessageBody + 'static>(self, response: Response<B>) -> Response<TrackedBody> {
        let holds_large_head = self
            .window
            .as_ref()
            .is_some_and(|window| window.holds_large_head());
        let is_last = holds_large_head || !self.is_body_read();
        let mut response = response.map_body(|_, body| TrackedBody {
            body: BoxBody::new(body),
            _request: self,
        });
        if is_last {
            response
                .head_mut()
                .set_connection_type(ConnectionType::Close);
        }
        response
    }
}

impl Drop for RequestGuard {
    fn drop(&mut self) {
        if let Some(window) = &self.window {
            window.end_request(self.is_body_read());
        }
    }
}

impl MessageBody for TrackedBody {
    type Error = Box<dyn std::error::Error>;

    fn size(&self) -> BodySize {
        self.body.size()
    }

    fn poll_next(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Self::Error>>> {
        Pin::new(&mut self.body).poll_next(context)
    }
}

impl From<FinalResponse> for Response<BoxBody> {
    fn from(response: FinalResponse) -> Self {
        response.0
    }
}
